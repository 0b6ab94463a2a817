"""The controller: invoked by the minute, it looks at the whole cluster and does what follows, as safely twice at once as once."""

from sedano.host.functions import controller

handler = controller()
