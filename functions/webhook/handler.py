"""The webhook: a request to the stage's URL in; it becomes domain events, and the sender gets a status."""

from sedano.host.functions import webhook

handler = webhook()
