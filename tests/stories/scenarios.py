"""The walks that are broken at every step: what is published, what must have been recorded in the end, what may be set aside."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sedano import chain, chord, fork, group
from sedano.model import states
from sedano.model.messages import codec
from sedano.model.messages.message import Command
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


def _failing_chain(shop: Shop) -> None:
    flow = chain(shop.add.s(1, 1), shop.fails.si().set(queue="bulk"), shop.add.s(1), shop.add.s(2))
    flow.link_error(shop.label.s())
    flow.delay()


def _nested(shop: Shop) -> None:
    chain(shop.add.s(1, 1), group(shop.add.s(1), group(shop.add.s(2))), fork(shop.pack.s()), shop.label.s()).delay()


def _replaced(shop: Shop) -> None:
    shop.task("swap", lambda n: shop.add.replace(shop.add.s(n, 1) | shop.add.s(2)), retry=False)
    chord([shop.app_sig("swap").clone((1,)), shop.add.s(1, 1)], shop.total.s()).delay()


def _added(shop: Shop) -> None:
    shop.task("more", lambda n: (shop.add.add_to_chord(shop.add.s(n, 1)), n)[1], retry=False)
    chord([shop.app_sig("more").clone((1,)), shop.add.s(1, 1)], shop.total.s()).delay()


LATE = {("add", states.EXPIRED): 1, ("total", states.FAILURE): 1}
CUT = {("fails", states.FAILURE): 1, ("add", states.FAILURE): 1}
COLLECTED = {("sedano.collect", states.SUCCESS): 2}
SCENARIOS = [
    Scenario("plain", lambda s: s.add.delay(2, 3), succeeded(add=1)),
    Scenario("a batch", lambda s: s.together(s.add.s(n, n) for n in range(4)), succeeded(add=4)),
    Scenario("group", lambda s: group(s.add.s(n, n) for n in range(4)).delay(), succeeded(launch=1, add=4)),
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
    Scenario("async", lambda s: s.together(s.soon.s(n) for n in range(3)), succeeded(soon=3, pack=3)),
    Scenario("singleton", lambda s: s.together(s.alone.s(n) for n in range(3)), succeeded(alone=3), calls=60),
    Scenario("chord from a task", lambda s: s.plan.delay(2), succeeded(plan=1, launch=1, add=2, total=1), calls=60),
    Scenario("chord with a late member", _late_member, {**succeeded(launch=1, add=1), **LATE}, ("expired",), calls=60),
    Scenario("chain", lambda s: chain(s.add.s(1, 1), s.add.s(1), s.add.s(1)).delay(), succeeded(add=3), calls=40),
    Scenario("chain that fails", _failing_chain, {**succeeded(add=1, label=1), **CUT}, calls=40),
    Scenario("groups in groups", _nested, {**succeeded(launch=2, add=3, pack=1, label=1), **COLLECTED}, calls=60),
    Scenario("replaced", _replaced, succeeded(launch=1, add=3, total=1), calls=60),
    Scenario("added to a chord", _added, succeeded(launch=1, more=1, add=2, total=1), calls=60),
    Scenario("large event", lambda s: s.Bought.delay(what="x" * 70_000), succeeded(mail=1, count=1)),
    Scenario("claim check", lambda s: s.big.delay("x" * 120_000), succeeded(big=1)),
    Scenario("wrong arguments", lambda s: by_hand(s, task="add", args=(1, 2, 3)), {("add", states.FAILURE): 1}, ("arguments",)),
    Scenario("expired", lambda s: s.add.apply_async((1, 2), expires=-1.0), {("add", states.EXPIRED): 1}, ("expired",)),
]  # fmt: skip
