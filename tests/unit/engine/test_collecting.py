"""Debounced and batched calls alone: what is noted, sent and put into which basket, and when it runs at the latest."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.batch import Arguments, Batch, Job, Stillborn
from sedano.engine.canvas.chord_results import HeaderFailed
from sedano.engine.collection import MOST_SENT, Collecting, CollectionRequest, _remember
from sedano.errors import SedanoError, Unavailable
from sedano.model import refusals, states
from sedano.model.collection import Basket, Fetched, Latest, written
from sedano.model.ledger.records import ErrorRecord
from sedano.model.limits.task_limits import QUIET, TaskLimits
from sedano.model.messages import codec
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.lineage import derived_id
from sedano.model.messages.message import Command
from sedano.ports import Outgoing, Ports
from tests.unit.engine.gated import QUEUE, advance, asked, batch, job, names, told, waits, world
from tests.unit.engine.test_pacing import without_keys

QUIETLY = TaskLimits(debounce=5.0)
TOGETHER = TaskLimits(batch=(2, 10.0))


def of(command: Command) -> Arguments:
    """The arguments of a command."""
    return command.args, command.kwargs


def collecting(ports: Ports, arguments: Any = of) -> Collecting:
    """What collects, over *ports*."""
    return Collecting(ports, LamportClock(lambda: 1), "me", arguments)


def call(name: str = "a", limits: TaskLimits = QUIETLY, clock: int = 1, at: float = 1.0, **options: Any) -> CollectionRequest:
    """A call of a debounced or batched task."""
    one = job(name, **options)
    return CollectionRequest(one._replace(command=one.command._replace(clock=clock, time=at)), limits, "")


def noted(ports: Ports, until: float, **options: Any) -> CollectionRequest:
    """A debounced call whose message says until when it waits."""
    one = call(**options)
    command = one.job.command
    given = ports.seals.attached(QUIET, str(round(until * 1_000_000)), QUEUE, command.id, command.task_id, one.name)
    return one._replace(job=one.job._replace(delivery=one.job.delivery._replace(attributes={QUIET: given})))


def made(ports: Ports) -> list[str]:
    """Which calls of the limits were made since the last time."""
    limits: Any = ports.limits
    found = [name for name, _ in limits.calls]
    limits.calls.clear()
    return found


def sent(ports: Ports) -> list[tuple[Command, int]]:
    """The commands that were sent, each with its delay."""
    found = [one for _, some in asked(ports.queues, "send") for one in some]
    commands = [codec.decode(one.body) for one in found]
    return [(command, one.delay) for command, one in zip(commands, found, strict=True) if isinstance(command, Command)]


def quieten(ports: Ports, *some: CollectionRequest) -> tuple[list[Job], Batch]:
    """What becomes of debounced calls."""
    now = batch(ports)
    return collecting(ports).quieten(some, now), now


def collect(ports: Ports, *some: CollectionRequest, arguments: Any = of, by: Collecting | None = None) -> tuple[list[Job], Batch]:
    """What becomes of batched calls."""
    now = batch(ports)
    return (by or collecting(ports, arguments)).collect(some, now), now


def test_a_call_is_noted_and_waits_for_quiet_however_old_it_is() -> None:
    ports = world(0.5, "limits")
    going, now = quieten(ports, call(at=1.0))
    assert (going, made(ports)) == ([], ["note"])
    assert told(now) == [("a", "debounce: waiting for quiet", round(ports.clock.now() + 5, 3))]
    ((_, (again,)),) = asked(ports.queues, "send")
    text = ports.seals.detached(QUIET, again.attributes[QUIET], QUEUE, "a", "a", "only/")
    assert text == str(int((ports.clock.now() + 5.0) * 1_000_000))


def test_a_call_that_is_early_waits_until_the_moment_that_was_noted() -> None:
    ports = world(0.5, "limits")
    going, now = quieten(ports, noted(ports, ports.clock.now() + 3.0))
    assert (going, made(ports), told(now)[0][1:]) == ([], [], ("debounce: waiting for quiet", round(ports.clock.now() + 3, 3)))


def test_after_the_quiet_the_latest_call_runs_with_a_read_and_no_write() -> None:
    ports = world(0.5, "limits")
    ports.limits.note("only/", Latest(1, "a"), 0.0)
    made(ports)
    assert names(quieten(ports, noted(ports, ports.clock.now()))[0]) == ["a"]
    assert made(ports) == ["latest"]


def test_a_call_that_is_not_the_latest_ends_and_names_the_one_that_is() -> None:
    ports = world(0.5, "limits")
    ports.limits.note("only/", Latest(2, "b"), 0.0)
    (found,), _ = quieten(ports, noted(ports, ports.clock.now()))
    why = "a later call, b, took its place"
    assert found.stillborn == Stillborn(states.REVOKED, refusals.SUPERSEDED, "debounce", why, park=False)


@pytest.mark.parametrize(("age", "runs"), [(4.99, []), (5.0, ["a"])])
def test_without_keys_a_call_runs_that_was_published_for_long_enough(age: float, runs: list[str]) -> None:
    ports = without_keys(world(0.5, "limits"))
    going, _ = quieten(ports, call(at=ports.clock.now() - age))
    assert names(going) == runs
    assert [dict(one.attributes) for _, some in asked(ports.queues, "send") for one in some] == ([] if runs else [{}])


class AwayAtFirst(memory.MemoryLimits):
    """Limits that do not answer the first question."""

    def __init__(self) -> None:
        """Be away once."""
        super().__init__()
        self.away = True

    def note(self, name: str, call: Latest, now: float) -> Latest:
        """Be away."""
        if self.away:
            self.away = False
            raise Unavailable("limits: away")
        return super().note(name, call, now)


def test_a_debounced_call_without_an_answer_waits_and_the_next_one_is_noted() -> None:
    ports = replace(world(), limits=AwayAtFirst())
    going, now = quieten(ports, call("a"), call("b"))
    assert (going, waits(now), [name for name, _, _ in told(now)]) == ([], {"a": None}, ["b"])


def test_calls_of_a_slice_go_into_one_basket_which_runs_after_the_slice() -> None:
    ports = world(0.5, "limits")
    advance(ports, 0.25)
    going, now = collect(ports, call("a", TOGETHER, args=(1,)))
    basket = f"only//{int(memory.START // 10)}.0"
    ((command, delay),) = sent(ports)
    assert (going, delay) == ([], 11)
    assert (command.task_id, command.task, list(command.args)) == (derived_id(basket, "batch"), "only.batch", [basket])
    assert ports.limits.shut(basket, 0.0).calls == {"a": written("a", (1,), {})}
    assert now.counts == {("CallsCollected", "only"): 1}
    assert (now.is_decided(job("a").delivery), now.given_back) == (True, [])
    (line,) = now.chronicle.lines
    assert line == {
        "type": "task-held", "clock": 7, "timestamp": ports.clock.now(), "uuid": "a", "name": "only",
        "reason": "batch: waiting for other calls", "until": memory.START + 10 + 2, "batch": command.task_id,
    }  # fmt: skip


def test_a_moment_is_told_to_the_millisecond() -> None:
    ports = world()
    _, now = collect(ports, call("a", TaskLimits(batch=(9, 1.0006))))
    (until,) = [until for _, _, until in told(now)]
    assert until == round(until, 3)
    assert round(until, 2) != until


def test_the_command_of_a_basket_is_sent_once_and_a_full_one_runs_at_once() -> None:
    ports = world(0.5, "limits")
    by = collecting(ports)
    collect(ports, call("a", TOGETHER), by=by)
    _, now = collect(ports, call("b", TOGETHER), by=by)
    assert [delay for _, delay in sent(ports)] == [11, 0]
    assert [until for _, _, until in told(now)] == [ports.clock.now()]


def test_the_next_call_after_a_full_basket_looks_for_room_from_that_one_on() -> None:
    ports = world(0.5, "limits")
    by = collecting(ports)
    for name in "abcdef":
        collect(ports, call(name, TOGETHER), by=by)
    baskets = [args[0].rpartition(".")[2] for args in asked(ports.limits, "put")]
    assert baskets == ["0", "0", "0", "1", "1", "1", "2", "2"]


class Refusing(memory.MemoryLimits):
    """Limits that have no room in the first slice."""

    def put(self, name: str, entries: Sequence[str], most: int, now: float) -> Basket | None:
        """Refuse what is for the slice of now."""
        number = float(name.rpartition("/")[2]) // 1
        return None if number < now // 10 + 1 else super().put(name, entries, most, now)


def test_where_a_slice_has_no_room_the_next_one_is_taken() -> None:
    ports = world(0.5, "limits")
    ports.limits.port = Refusing()  # type: ignore[attr-defined]
    _, now = collect(ports, call("a", TOGETHER))
    command, delay = sent(ports)[-1]
    assert (list(command.args), delay) == ([f"only//{int(memory.START // 10) + 1}.0"], 21)
    assert [until for _, _, until in told(now)] == [memory.START + 20 + 2]


def long_call(name: str, more: int) -> CollectionRequest:
    """A call that is as long as one beside others may be, and *more* bytes."""
    bare = len(written(name, ("",), {}).encode())
    return call(name, TOGETHER, args=("x" * (75_000 - bare + more),))


def test_a_call_that_is_too_long_for_a_basket_runs_alone_and_at_once() -> None:
    ports = world(0.5, "limits")
    one = long_call("a", 1)
    _, now = collect(ports, one)
    ((command, delay),) = sent(ports)
    assert (command.task_id, delay, asked(ports.limits, "put")) == (derived_id("only//a", "batch"), 0, [])
    assert (now.chronicle.lines[0]["batch"], now.chronicle.lines[0]["until"]) == (command.task_id, ports.clock.now())
    _, now = collect(ports, long_call("b", 0))
    assert len(asked(ports.limits, "put")) == 1


def test_a_long_call_does_not_take_the_others_with_it() -> None:
    ports = world(0.5, "limits")
    _, now = collect(ports, long_call("a", 1), call("b", TOGETHER))
    (alone, _), (together, _) = sent(ports)
    assert {line["uuid"]: line["batch"] for line in now.chronicle.lines} == {"a": alone.task_id, "b": together.task_id}


def test_a_basket_runs_for_the_tenant_and_with_the_stamps_of_its_first_call() -> None:
    ports = world(0.5, "limits")
    first, second = call("a", TOGETHER, ignore_result=True), call("b", TOGETHER)
    first = first._replace(job=first.job._replace(command=first.job.command._replace(tenant="acme", stamps="a=1")))
    collect(ports, first, second)
    assert {(command.tenant, command.stamps, command.ignore_result) for command, _ in sent(ports)} == {("acme", "a=1", True)}


def test_a_basket_of_a_task_that_keeps_results_keeps_its_own() -> None:
    ports = world(0.5, "limits")
    collect(ports, call("a", TOGETHER))
    assert [command.ignore_result for command, _ in sent(ports)] == [None]


def test_a_basket_of_a_long_slice_is_run_by_a_timer() -> None:
    ports = world(0.5, "limits")
    advance(ports, 0.25)
    collect(ports, call("a", TaskLimits(batch=(9, 3600.0))))
    assert [timer.at for timer in ports.timers.list()] == [ports.clock.now() + 3601]


def test_a_call_whose_header_failed_ends_and_one_that_cannot_be_read_is_contained() -> None:
    def arguments(command: Command) -> Arguments:
        if command.task_id == "a":
            raise HeaderFailed(ErrorRecord("E", "m"))
        if command.task_id == "b":
            raise RuntimeError("a defect")
        return of(command)

    ports = world(0.5, "limits")
    going, now = collect(ports, *(call(name, TaskLimits(batch=(3, 10.0))) for name in "abc"), arguments=arguments)
    assert names(going) == ["a"]
    assert [parking.delivery.message_id for parking in now.parkings] == ["b"]
    assert [name for name, _, _ in told(now)] == ["c"]


class AwayQueues(memory.MemoryQueues):
    """Queues that refuse the first message, as one that throttles does."""

    refuses = True

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Refuse once."""
        if self.refuses:
            self.refuses = False
            return [Unavailable("queue: away")] * len(messages)
        return super().send(queue, messages)


def test_a_basket_whose_command_was_not_sent_takes_no_call() -> None:
    ports = world(0.5, "limits")
    ports = replace(ports, queues=AwayQueues(ports.clock, (QUEUE,)))

    def arguments(command: Command) -> Arguments:
        if command.task_id == "b":
            raise HeaderFailed(ErrorRecord("E", "m"))
        return of(command)

    by = collecting(ports, arguments)
    going, now = collect(ports, call("a", TOGETHER), call("b", TOGETHER), by=by)
    assert (names(going), list(waits(now)), asked(ports.limits, "put")) == (["b"], ["a"], [])
    assert now.deferred["a"].reason.startswith("not answered: the command that runs a batch of only.batch was not sent")
    collect(ports, call("a", TOGETHER), by=by)
    assert len(ports.queues.peek(QUEUE)) == 1, "the next call sends it again"


def test_a_basket_is_opened_with_its_calls() -> None:
    ports = world(0.5, "limits")
    ports.limits.put("basket", [written("x", (1,), {})], 9, 0.0)
    found = collecting(ports).opened(job("a", args=("basket",)))
    assert found.command.args == [Fetched({"x": written("x", (1,), {})})]


def test_a_basket_without_calls_ends_unrun() -> None:
    found = collecting(world()).opened(job("a", args=("basket",)))
    why = "its basket is empty"
    assert found.stillborn == Stillborn(states.REVOKED, refusals.SUPERSEDED, "batch", why, park=False)


@pytest.mark.parametrize("args", [(), ("x", "y"), (["x"],)])
def test_arguments_that_name_no_basket_are_the_calls_own(args: tuple[Any, ...]) -> None:
    one = job("a", args=args)
    assert collecting(world()).opened(one) is one
    named = one._replace(command=one.command._replace(args=("x",), kwargs={"n": 1}))
    assert collecting(world()).opened(named) is named


def test_a_thousand_baskets_are_known_those_that_were_used_last() -> None:
    known: OrderedDict[str, int] = OrderedDict()
    for number in [*range(1_000), 0]:
        _remember(known, str(number), number)
    assert len(known) == 1_000 == MOST_SENT
    _remember(known, "last", 7)
    assert (len(known), next(iter(known)), list(known)[-2:]) == (1_000, "2", ["0", "last"])
