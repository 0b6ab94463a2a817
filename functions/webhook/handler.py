"""The webhook: turns a request to the stage's URL into domain events, and answers the sender with a status."""

from sedano.host.functions import webhook

handler = webhook()
