"""The webhook: what a sender posts to the stage's URL in; it becomes domain events, and the sender is told so."""

from sedano.bootstrap import webhook

handler = webhook()
