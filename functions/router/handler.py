"""The router: a batch of domain events in; each becomes a command for every task that subscribed."""

from sedano.bootstrap import router

handler = router()
