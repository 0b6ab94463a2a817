"""The controller: invoked every minute, it checks the whole cluster and acts on it; two invocations at once are safe."""

from sedano.host.functions import controller

handler = controller()
