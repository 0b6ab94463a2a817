"""Test your tasks with the real engine, in memory, on virtual time: no AWS, no waiting, no mocks.

    with sedano.testing.world(app) as world:
        result = add.delay(2, 3)
        world.drain()
        assert result.get() == 5
        assert world.sent("shop.tasks.add") == [{"args": [2, 3], "kwargs": {}}]

The worker, the router and the recorder are those that run in Lambda; only the ports are replaced.
"""

from sedano.testing.deployment import INVOCATION_S as INVOCATION_S
from sedano.testing.deployment import WaitingClock as WaitingClock
from sedano.testing.deployment import World as World
from sedano.testing.deployment import world as world
from sedano.testing.sent_queues import MOST_RECEIVES as MOST_RECEIVES
from sedano.testing.sent_queues import SentQueues as SentQueues
