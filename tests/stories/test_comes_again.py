"""What could not be finished comes again: each guard of a step is met with the service away that it is about, and nothing else disturbed.

`test_unavailable` breaks any call of whole scenarios; these are the guards that those scenarios never reach.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sedano import chain, chord, current
from sedano.errors import Unavailable
from sedano.model import refusals, states
from sedano.model.ledger.records import NO_RETRY, RECORD_LIFETIME_S
from sedano.model.messages import codec
from sedano.model.timers import Timer, sealed
from sedano.ports import PARKED, Delivery, Outgoing, Ports
from tests.commands import command_in
from tests.stories.processes import COMMANDS, INVOCATION_S, Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage
from tests.stories.taps import OUTSIDE, Crash, Watch, tapped

LARGE = "x" * 200_000
"""A result that lies in the blob store; so do an outbox of many messages and what a large event says."""


class Without:
    """A port of which some operations are away; it notes what is called."""

    def __init__(self, port: Any, *operations: str) -> None:
        """Stand before *port*."""
        self._port, self._away = port, operations
        self.calls: list[str] = []

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        """Return the port's operation, or one that is away."""
        if not callable(found := getattr(self._port, operation)):
            return found  # type: ignore[no-any-return]

        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls.append(operation)
            if operation in self._away:
                raise Unavailable(f"{operation} is away (a story's doing)")
            return getattr(self._port, operation)(*args, **kwargs)

        return call


def received(stage: Stage) -> list[Delivery]:
    """Receive what lies in the queue of commands."""
    return list(stage.ports.queues.receive(COMMANDS))


def work(processes: Processes, ports: Ports, deliveries: list[Delivery]) -> list[Delivery]:
    """Work *deliveries* off over *ports*, acknowledge what was finished, and return what was given back."""
    worker = processes.another_worker(ports, "late")
    back = worker.work(deliveries, processes.stage.clock.now() + INVOCATION_S)
    done = [one for one in deliveries if one not in back]
    if done:
        processes.stage.ports.queues.delete(done)
    return back


@pytest.fixture
def processes(stage: Stage, shop: Shop) -> Processes:
    """The processes of the shop."""
    return Processes(stage, shop.app)


def test_an_early_timer_whose_command_cannot_be_sent_on_comes_again(stage: Stage, shop: Shop, processes: Processes) -> None:
    result = shop.add.delay(1, 2)
    (message,) = received(stage)
    stage.ports.queues.delete([message])
    at = stage.clock.now() + 60
    stage.ports.queues.send(COMMANDS, [Outgoing(sealed(Timer("t", at, COMMANDS, message.body)))])
    early = received(stage)
    assert work(processes, replace(stage.ports, queues=Without(stage.ports.queues, "send")), early) == early
    stage.pass_time(61)
    processes.drain()
    assert result.get() == 3


def test_a_replaced_task_whose_worker_died_before_it_followed_is_replaced_and_not_tried_again(stage: Stage, shop: Shop) -> None:
    task: Any = shop.task("replaced", lambda: task.replace(shop.add.s(20, 22)))
    processes = Processes(stage, shop.app)
    result = task.delay()
    watch = Watch(at=0, error=Crash, ports=frozenset({"queues"}))
    with pytest.raises(Crash):
        work(processes, tapped(stage.ports, watch), received(stage))
    processes.recover()
    assert (result.get(), shop.ran["replaced"]) == (42, 1)


def test_a_revocation_that_cannot_be_recorded_comes_again(stage: Stage, shop: Shop) -> None:
    def marked() -> None:
        stage.ports.ledger.ask(current().id, NO_RETRY)
        raise RuntimeError("not yet")

    task = shop.task("marked", marked)
    processes = Processes(stage, shop.app)
    result = task.delay()
    processes.deliver()
    stage.pass_time(3)
    again = received(stage)
    assert len(again) == 1
    ledger = Without(stage.ports.ledger, "revoke")
    work(processes, replace(stage.ports, ledger=ledger), again)
    assert "revoke" in ledger.calls
    assert result.state == states.RETRY
    stage.pass_time(1_000)
    processes.drain()
    assert (result.state, shop.ran["marked"]) == (states.REVOKED, 1)


@pytest.mark.parametrize("change", [{"attempt": 1}, {"time": -RECORD_LIFETIME_S - 1.0}])
def test_a_message_whose_record_is_gone_is_set_aside_and_does_not_run(
    stage: Stage, shop: Shop, processes: Processes, change: dict[str, Any]
) -> None:  # fmt: skip
    shop.add.delay(1, 2)
    (message,) = received(stage)
    stage.ports.queues.delete([message])
    command = command_in(message.body)
    if "time" in change:
        change = {"time": stage.clock.now() + change["time"]}
    stage.ports.queues.send(COMMANDS, [Outgoing(codec.encode(command._replace(**change)))])
    processes.drain()
    assert shop.ran["add"] == 0
    assert [parked.attributes["reason"] for parked in stage.peek(PARKED)] == [refusals.QUARANTINE]
    assert stage.ports.ledger.read([command.task_id]) == {}


def test_a_message_as_old_as_records_are_kept_runs(stage: Stage, shop: Shop, processes: Processes) -> None:
    result = shop.add.delay(1, 2)
    (message,) = received(stage)
    stage.ports.queues.delete([message])
    command = command_in(message.body)
    stage.ports.queues.send(COMMANDS, [Outgoing(codec.encode(command._replace(time=stage.clock.now() - RECORD_LIFETIME_S + 60)))])
    processes.drain()
    assert result.get() == 3


@pytest.mark.parametrize("what", ["a result", "an outbox", "an event"])
def test_a_blob_store_that_is_away_makes_no_failure_of_a_success(stage: Stage, shop: Shop, what: str) -> None:
    def body() -> str:
        if what == "an outbox":
            for _ in range(60):
                shop.big.delay("x" * 3_000)
        if what == "an event":
            shop.Bought.delay(what=LARGE)
        return LARGE if what == "a result" else "small"

    task = shop.task("large", body, retry=False)
    processes = Processes(stage, shop.app)
    result = task.delay()
    blobs = Without(stage.ports.blobs, "put")
    back = work(processes, replace(stage.ports, blobs=blobs), received(stage))
    assert blobs.calls.count("put") > 0
    assert len(back) == 1
    assert result.state not in states.TERMINAL
    stage.pass_time(100)
    processes.drain()
    assert result.get() == (LARGE if what == "a result" else "small")


def test_a_member_whose_chains_end_cannot_be_recorded_does_not_arrive(stage: Stage, shop: Shop, processes: Processes) -> None:
    result = chord([chain(shop.fails.s(), shop.add.si(1, 1)), shop.add.s(2, 2)])(shop.total.s())
    processes.deliver()
    members = received(stage)
    ledger = Without(stage.ports.ledger, "keep")
    for one in members:
        work(processes, replace(stage.ports, ledger=ledger), [one])
        if command_in(one.body).task == "fails":
            assert "keep" in ledger.calls
            assert "arrive" not in ledger.calls, "who reads the member's record would not find it"
        ledger.calls.clear()
    stage.pass_time(1_000)
    processes.drain()
    assert result.state == states.FAILURE


@pytest.mark.parametrize(("options", "given_back"), [({"concurrency": 1}, "limits.give_back"), ({"singleton": True}, "leases.release")])
def test_what_a_task_holds_is_given_back_after_everything_that_follows_from_it(
    stage: Stage, shop: Shop, options: dict[str, Any], given_back: str
) -> None:  # fmt: skip
    task = shop.task("held", lambda: shop.add.delay(1, 1).id, **options)
    processes = Processes(stage, shop.app)
    task.delay()
    watch = Watch(ports=OUTSIDE | {"limits"})
    work(processes, tapped(stage.ports, watch), received(stage))
    seen = [call for call in watch.calls if call in ("queues.send", given_back)]
    assert seen == ["queues.send", given_back, "queues.send"], "the last one is the history"
