"""Limits as their users see them: who is refused comes in its slot, permits come back, and nothing is lost."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from sedano import DomainEvent, Retry, Sedano, current, group, testing
from sedano.engine.task_context import TaskContext
from sedano.errors import ArgumentError, RemoteError, SedanoError
from sedano.model import states
from sedano.model.limits.rate import Pace
from sedano.model.limits.task_limits import LimitChange, read
from sedano.ports import Delivery, command_queue

app = Sedano("limits", queues=("default", "default-high"))
starts: list[tuple[float, Any]] = []
clock: Any = None
COMMANDS = command_queue("default")


def _started(what: Any) -> None:
    starts.append((clock.now(), what))


@app.task(name="send", rate="2/s")
def send(n: int) -> int:
    """Send, at most twice a second."""
    _started(n)
    return n


@app.task(name="burst", rate=("10/s", "60/m"), burst=(1, 5))
def burst(n: int) -> int:
    """Five in a row at ten a second, then one a second."""
    _started(n)
    return n


@app.task(name="post", rate="1/m", key="{user[id]}")
def post(user: dict[str, Any]) -> None:
    """Post, once a minute for each user."""
    _started(user["id"])


@app.task(name="again", rate="1/m", retry=Retry(max_retries=1, interval_start=1, jitter=False))
def again() -> None:
    """Fail once: each run takes a slot."""
    _started(current().attempt)
    if not current().attempt:
        raise ValueError("not yet")


@app.task(name="mine", rate="1/s", per="worker")
def mine(n: int) -> None:
    """Start once a second on each worker."""
    _started(n)


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The app in memory."""
    global clock  # noqa: PLW0603 - bodies have no other way to the test's clock
    starts.clear()
    with testing.world(app) as built:
        clock = built.clock
        yield built


def gaps() -> list[float]:
    """The times between starts."""
    moments = [moment for moment, _ in starts]
    return [round(later - one, 3) for one, later in pairwise(moments)]


def test_tasks_start_no_more_often_than_declared_and_all_of_them_do(world: testing.World) -> None:
    results = [send.delay(n) for n in range(20)]
    world.drain()
    assert sorted(result.get() for result in results) == list(range(20))
    moments = [moment for moment, _ in starts]
    for one in moments:
        assert sum(one <= other < one + 5.0 for other in moments) <= 2 * (5 + 2) + 1
    assert moments[-1] - moments[0] >= 19 / 2 - 1


def test_who_is_refused_is_told_its_slot_once_and_does_not_ask_again(world: testing.World) -> None:
    for n in range(10):
        send.delay(n)
    world.drain()
    assert world.telemetry.counted("TasksHeld", task="send") == 9
    assert len(starts) == 10


def test_several_windows_hold_at_once(world: testing.World) -> None:
    for n in range(8):
        burst.delay(n)
    world.drain()
    moments = [moment for moment, _ in starts]
    assert moments[4] - moments[0] <= 1.5, "five at ten a second, within what a second's grain leaves"
    assert moments[7] - moments[0] >= 2.9


def test_each_key_has_a_rate_of_its_own(world: testing.World) -> None:
    for user in ("a", "b", "a"):
        post.delay({"id": user})
    world.step()
    assert [user for _, user in starts] == ["a", "b"]
    world.drain()
    assert [user for _, user in starts] == ["a", "b", "a"]
    assert starts[2][0] - starts[0][0] == pytest.approx(60, abs=1.1)


def test_a_message_without_the_key_fails_and_says_which(world: testing.World) -> None:
    result = post.delay({})
    world.drain()
    with pytest.raises(SedanoError, match=r"the key of its limit: .*user\[id\]"):
        result.get()
    assert not starts


def test_each_run_takes_a_slot_of_its_own(world: testing.World) -> None:
    again.delay()
    world.drain()
    assert [attempt for _, attempt in starts] == [0, 1]
    assert gaps()[0] >= 59


def test_a_slot_that_was_missed_is_not_used_later(world: testing.World) -> None:
    for n in range(4):
        send.delay(n)
    world.step()
    assert len(starts) == 1
    world.clock.advance(600)
    world.drain()
    assert len(starts) == 4
    assert [round(moment - starts[1][0], 1) for moment, _ in starts[2:]] != [0.0, 0.0], "what came late does not start all at once"


def test_a_rate_of_each_worker_costs_no_write(world: testing.World) -> None:
    for n in range(3):
        mine.delay(n)
    world.drain()
    assert gaps() == [1.0, 1.0]
    assert world.ports.limits.line("mine/1000000x1/", ()) is None


def test_limits_change_while_tasks_run(world: testing.World) -> None:
    app.control.rate_limit("send", "1/m")
    for n in range(3):
        send.delay(n)
    world.drain()
    assert gaps() == pytest.approx([60, 60], abs=1.1)
    app.control.rate_limit("send", None)
    world.clock.advance(120)
    starts.clear()
    for n in range(3):
        send.delay(n)
    world.drain()
    assert gaps() == [0, 0]
    app.control.restore_limits("send")


def test_a_time_limit_changes_at_run_time_and_leaves_the_other_limits_alone(world: testing.World) -> None:
    @app.task(name="spin", time_limit=60)
    def spin() -> None:
        while True:
            pass

    app.control.rate_limit("spin", "1/s")
    app.control.time_limit("spin", hard=0.1)
    changed = app.control.concurrency("spin", 5)
    assert read(changed["spin"]) == LimitChange((Pace(1_000_000),), 5, (None, 0.1), 5)
    result = spin.delay()
    world.drain()
    with pytest.raises(RemoteError, match=r"hard time limit of 0\.1 s"):
        result.get()
    app.control.time_limit("send")
    assert send.delay(1).get() == 1
    assert read(app.control.time_limit("send", 5)["send"]).time == (5, None)
    app.control.restore_limits("spin")
    assert app.control.restore_limits("send") == {}
    del app.registry.tasks["spin"]


def test_a_change_that_an_older_version_wrote_is_read() -> None:
    assert read('{"paces": [[1000000, 1]], "concurrency": null}') == LimitChange((Pace(1_000_000),))


def test_a_task_without_limits_reads_and_writes_nothing_for_them(world: testing.World) -> None:
    @app.task(name="free")
    def unlimited() -> None:
        return None

    calls: list[str] = []
    limits: Any = world.ports.limits
    permits = ("take", "board", "boards", "line_up", "leave_line", "keep")
    for name in ("begin", "join", "turn", "line", *permits, "note", "latest", "put", "shut"):
        setattr(limits, name, lambda *_, name=name: calls.append(name))
    unlimited.delay()
    world.drain()
    del app.registry.tasks["free"]
    assert calls == []


def test_a_priority_is_a_queue_of_its_own(world: testing.World) -> None:
    @app.task(name="urgent", priority="high")
    def urgent() -> None:
        return None

    urgent.delay()
    (found,) = world.ports.queues.receive(command_queue("default-high"))
    assert isinstance(found, Delivery)
    del app.registry.tasks["urgent"]


def test_a_tenant_is_found_in_the_arguments(world: testing.World) -> None:
    seen: list[TaskContext] = []

    @app.task(name="bill", tenant="{customer}")
    def bill(customer: str) -> None:
        seen.append(current())

    bill.delay("acme")
    bill.s("acme").set(tenant="other").delay()
    assert [message.tenant for message in world.queues.peek(COMMANDS)] == ["acme", "other"]
    world.drain()
    assert [context.tenant for context in seen] == ["acme", "other"]
    del app.registry.tasks["bill"]


def test_a_task_of_a_canvas_has_the_tenant_of_its_own_arguments_where_they_are_known() -> None:
    own = Sedano("canvas")
    seen: list[tuple[str, str | None]] = []

    @own.task(name="bill", tenant="{customer}")
    def bill(customer: str, *_: Any) -> str:
        seen.append((customer, current().tenant))
        return customer

    with testing.world(own) as world:
        group(bill.s(customer) for customer in ("acme", "zeta")).delay()
        (bill.s("head") | bill.si("next") | bill.s() | bill.s().set(tenant="said")).delay()
        world.drain()
        assert set(seen) == {("acme", "acme"), ("zeta", "zeta"), ("head", "head"), ("next", "next"), ("next", "said")}
        owed = own.task(name="owed", tenant="{order[customer]}")(lambda order: None)
        with pytest.raises(ArgumentError, match=r"tenant: LookupError: .* needs 'customer', which the arguments do not have"):
            group(owed.s({}), owed.s({"customer": "acme"})).delay()


def test_a_subscriber_has_the_tenant_that_the_events_fields_say_else_the_events() -> None:
    own = Sedano("events")
    seen: list[tuple[str, str | None]] = []

    @own.event
    class Sold(DomainEvent):
        customer: str

    @Sold.subscribe
    @own.task(name="bill", tenant="{customer}")
    def bill(customer: str) -> None:
        seen.append(("bill", current().tenant))

    @Sold.subscribe
    @own.task(name="count", tenant=lambda customer: {"acme": "a"}[customer])
    def count(customer: str) -> None:
        seen.append(("count", current().tenant))

    with testing.world(own) as world:
        Sold.delay(customer="zeta")
        world.drain()
        assert sorted(seen) == [("bill", "zeta"), ("count", None)]
        assert any(line.message == "the tenant of a subscriber is not in the event" for line in world.telemetry.lines)


def test_a_limited_task_that_is_done_says_so(world: testing.World) -> None:
    result = send.delay(1)
    world.drain()
    assert result.state == states.SUCCESS
