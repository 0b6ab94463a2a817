"""The walks that are broken at every step: what is published, what must have been recorded in the end, what may be set aside."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sedano import chord, group
from sedano.model import codec, states
from sedano.model.messages import Command
from sedano.ports import Outgoing
from tests.stories.kept import Effects, succeeded
from tests.stories.processes import COMMANDS, Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage


@dataclass(frozen=True)
class Scenario:
    """One walk. *calls*: the least number of port calls that it makes, so that a story of it cannot be empty."""

    name: str
    publish: Callable[[Shop], Any]
    effects: Effects
    parked: tuple[str, ...] = ()
    calls: int = 20

    def begin(self, stage: Stage) -> tuple[Shop, Processes]:
        """Publish it on *stage* and return the shop and its processes."""
        shop = Shop()
        processes = Processes(stage, shop.app)
        self.publish(shop)
        return shop, processes


def by_hand(shop: Shop, queue: str = COMMANDS, **fields: Any) -> Command:
    """Send a command that no checking front door looked at, and return it."""
    ports = shop.app.outlet.ports
    plain: dict[str, Any] = {"source": "by-hand", "time": ports.clock.now(), "clock": 1}
    command = Command(**{"id": ports.entropy.uuid(), "task_id": ports.entropy.uuid(), **plain, **fields})
    ports.queues.send(queue, [Outgoing(codec.encode(command))])
    return command


def _failing_chord(shop: Shop) -> None:
    chord([shop.add.s(1, 1), shop.fails.s()])(shop.total.s())


def _late_member(shop: Shop) -> None:
    chord([shop.add.s(1, 1), shop.add.s(2, 2).set(expires=-1.0)])(shop.total.s())


LATE = {("add", states.REVOKED): 1, ("total", states.FAILURE): 1}
SCENARIOS = [
    Scenario("plain", lambda s: s.add.delay(2, 3), succeeded(add=1)),
    Scenario("a batch", lambda s: group(s.add.s(n, n) for n in range(4)).delay(), succeeded(add=4)),
    Scenario("retry", lambda s: s.flaky.delay(1), succeeded(flaky=1, pack=1)),
    Scenario("outbox and event", lambda s: s.buy.delay("tea"), succeeded(buy=1, pack=1, label=1, mail=1, count=1), calls=60),
    Scenario("chord", lambda s: chord(s.add.s(n, 1) for n in range(3))(s.total.s()), succeeded(launch=1, add=3, total=1), calls=60),
    Scenario(
        "chord that fails", _failing_chord,
        {**succeeded(launch=1, add=1), ("fails", states.FAILURE): 1, ("total", states.FAILURE): 1}, calls=60,
    ),
    Scenario("empty chord", lambda s: chord([])(s.total.s()), succeeded(launch=1, total=1)),
    Scenario("recorded once", lambda s: s.once.delay(4), succeeded(once=1, pack=1)),
    Scenario("at least once", lambda s: s.loose.delay(4), succeeded(pack=1)),
    Scenario("router", lambda s: s.Bought.delay(what="tea"), succeeded(mail=1, count=1)),
    Scenario("async", lambda s: group(s.soon.s(n) for n in range(3)).delay(), succeeded(soon=3, pack=3)),
    Scenario("singleton", lambda s: group(s.alone.s(n) for n in range(3)).delay(), succeeded(alone=3), calls=60),
    Scenario("chord from a task", lambda s: s.plan.delay(2), succeeded(plan=1, launch=1, add=2, total=1), calls=60),
    Scenario("chord with a late member", _late_member, {**succeeded(launch=1, add=1), **LATE}, ("expired",), calls=60),
    Scenario("large event", lambda s: s.Bought.delay(what="x" * 70_000), succeeded(mail=1, count=1)),
    Scenario("claim check", lambda s: s.big.delay("x" * 120_000), succeeded(big=1)),
    Scenario("wrong arguments", lambda s: by_hand(s, task="add", args=(1, 2, 3)), {("add", states.FAILURE): 1}, ("arguments",)),
    Scenario("expired", lambda s: s.add.apply_async((1, 2), expires=-1.0), {("add", states.REVOKED): 1}, ("expired",)),
]  # fmt: skip
