"""The webhook: what a sender posts to the stage's URL in; it becomes domain events, and the sender is told so."""

from sedano.host.functions import webhook

handler = webhook()
