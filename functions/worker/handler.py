"""The worker: a batch of commands in, which of them failed out."""

from sedano.bootstrap import worker

handler = worker()
