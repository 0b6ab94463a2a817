"""Rates alone: which calls a worker makes for its tickets, when a slot still counts, and what it does without keys."""

import random
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.batch import Batch, Job
from sedano.engine.limits.rate import TRIES, Pacing, RateRequest
from sedano.errors import Unavailable
from sedano.memory.key_store import MemoryKeyStore
from sedano.model.limits import rate as rates
from sedano.model.limits.rate import SECOND, Line, LineChanged, Pace, Paces, paces
from sedano.model.limits.task_limits import LATE_US, SLOT, Slot, TaskLimits, slot_of, slot_text
from sedano.ports import Ports
from sedano.ports.seals import Seals
from tests.unit.engine.gated import QUEUE, advance, batch, job, names, told, waits, world

ONE = paces("1/s")


class Keyless(MemoryKeyStore):
    """A stage whose keys cannot be had."""

    def read(self) -> str | None:
        """Be away."""
        raise Unavailable("keys: away")


def without_keys(ports: Ports) -> Ports:
    """The ports of a worker without keys."""
    return replace(ports, seals=Seals(Keyless(), ports.clock, ports.entropy, ports.telemetry))


def request(name: str = "a", limits: Paces = ONE, per_worker: bool = False, receives: int = 1) -> RateRequest:
    """A job that is limited."""
    return RateRequest(job(name, receives=receives), TaskLimits(paces=limits, per_worker=per_worker), "")


def us(ports: Ports, seconds: float = 0.0) -> int:
    """The time in so many seconds, in µs."""
    return int(ports.clock.now() * SECOND) + round(seconds * SECOND)


def slotted(ports: Ports, at: int, late: int = 0, rule: str = "", **options: Any) -> RateRequest:
    """A job whose message has the slot *at*."""
    bare = request(**options)
    text = slot_text(Slot(at, late, rule or rates.rule_text(bare.limits.paces)))
    command = bare.job.command
    given = ports.seals.attached(SLOT, text, QUEUE, command.id, command.task_id, bare.name)
    assert given
    return bare._replace(job=bare.job._replace(delivery=bare.job.delivery._replace(attributes={SLOT: given})))


def calls(ports: Ports) -> list[str]:
    """Which calls of the limits were made since the last time."""
    limits: Any = ports.limits
    found = [name for name, _ in limits.calls]
    limits.calls.clear()
    return found


def asked(ports: Ports, *some: RateRequest, pacing: Pacing | None = None) -> tuple[list[Job], Batch]:
    """The jobs whose slot is now, and the batch."""
    now = batch(ports)
    return (pacing or Pacing(ports)).admit(some, now), now


def slots(ports: Ports, one: RateRequest) -> list[Slot | None]:
    """The slots of the messages that were sent anew for *one*."""
    command, found = one.job.command, ports.queues.peek(QUEUE)
    given = [ports.seals.detached(SLOT, sent.attributes[SLOT], QUEUE, command.id, command.task_id, one.name) for sent in found]
    return [slot_of(text) for text in given]


def test_tickets_beyond_the_first_wait_for_their_slots() -> None:
    ports = world(0.5, "limits")
    going, now = asked(ports, request("a"), request("b"), request("c"))
    assert (names(going), calls(ports)) == (["a"], ["begin"])
    assert [until for _, _, until in told(now)] == [round(ports.clock.now() + n, 3) for n in (1, 2)]
    assert told(now)[0][1].startswith("rate limit: slot at 2026-01-01T00:00:01.000")


def test_a_line_is_followed_with_one_addition_while_it_is_ahead() -> None:
    ports = world(0.5, "limits")
    pacing = Pacing(ports)
    asked(ports, request("a"), pacing=pacing)
    calls(ports)
    (_, now) = asked(ports, request("b"), request("c"), pacing=pacing)
    assert calls(ports) == ["join"]
    assert [until for _, _, until in told(now)] == [round(ports.clock.now() + n, 3) for n in (1, 2)]


def test_a_line_that_is_as_good_as_new_begins_anew() -> None:
    ports = world(0.5, "limits")
    pacing = Pacing(ports)
    asked(ports, request("a"), pacing=pacing)
    calls(ports)
    advance(ports, 5.0)
    assert names(asked(ports, request("b"), pacing=pacing)[0]) == ["b"]
    assert calls(ports) == ["begin"]


def test_the_rest_of_a_burst_is_taken_with_a_comparison() -> None:
    ports, limits = world(0.5, "limits"), paces("1/s", 3)
    pacing = Pacing(ports)
    asked(ports, request("a", limits), request("b", limits), pacing=pacing)
    calls(ports)
    assert len(asked(ports, request("c", limits), pacing=pacing)[0]) == 1
    assert calls(ports) == ["turn"]


def test_a_line_that_another_worker_began_is_joined() -> None:
    ports = world(0.5, "limits")
    asked(ports, request("a"))
    calls(ports)
    going, now = asked(ports, request("b"))
    assert (going, calls(ports)) == ([], ["begin", "join"])
    assert [until for _, _, until in told(now)] == [round(ports.clock.now() + 1, 3)]


class Joined(memory.MemoryLimits):
    """Limits whose line others have joined by the time that the answer is here."""

    def begin(self, name: str, line: Line, limits: Paces) -> LineChanged:
        """Begin it, and answer with the line as it is after others joined."""
        answer = super().begin(name, line, limits)
        super().join(name, limits, 5, 0)
        return LineChanged(answer.done, self.line(name, limits))

    def turn(self, name: str, line: Line, seen: Line) -> LineChanged:
        """Take from it, and answer so too."""
        answer = super().turn(name, line, seen)
        found = self._lines[name] = rates.joined(line, paces("1/s", 9), 2)
        return LineChanged(answer.done, found)


def test_the_tickets_of_the_one_who_began_a_line_are_its_first() -> None:
    ports = world(0.5, "limits")
    ports.limits.port = Joined()  # type: ignore[attr-defined]
    assert names(asked(ports, request("a"))[0]) == ["a"]


def test_the_tickets_of_the_one_who_began_a_line_anew_are_its_first() -> None:
    ports, limits = world(0.5, "limits"), paces("1/s", 9)
    ports.limits.port = Joined()  # type: ignore[attr-defined]
    pacing = Pacing(ports)
    asked(ports, request("a", limits), pacing=pacing)
    calls(ports)
    going, _ = asked(ports, *(request(one, limits) for one in "bcd"), pacing=pacing)
    assert (names(going), calls(ports)) == (["b", "c", "d"], ["turn"])


class Contended(memory.MemoryLimits):
    """A line that others change each time."""

    def begin(self, name: str, line: Line, limits: Paces) -> LineChanged:
        """Refuse."""
        return LineChanged(False, None)


def test_a_line_that_changes_all_the_time_is_asked_again_later() -> None:
    ports = world(0.5, "limits")
    ports.limits.port = Contended()  # type: ignore[attr-defined]
    going, now = asked(ports, request("a"))
    assert (going, waits(now), len(calls(ports))) == ([], {"a": None}, TRIES)
    assert "its line changed during each of 6 attempts" in now.deferred["a"].reason


def test_a_slot_counts_from_its_time_until_two_seconds_after() -> None:
    for later, counts in ((0, True), (LATE_US, True), (LATE_US + 1, False)):
        ports = world(0.5, "limits")
        going, _ = asked(ports, slotted(ports, us(ports) - later))
        assert (names(going), calls(ports)) == (["a"], [] if counts else ["begin"])


def test_a_slot_in_the_future_is_kept_however_often_the_message_was_received() -> None:
    ports = world(0.5, "limits")
    going, now = asked(ports, slotted(ports, us(ports, 3.0), receives=3))
    assert (going, calls(ports), [until for _, _, until in told(now)]) == ([], [], [round(ports.clock.now() + 3, 3)])


@pytest.mark.parametrize(("receives", "taken"), [(1, []), (2, ["begin"]), (3, ["begin"])])
def test_a_second_run_takes_a_ticket_of_its_own(receives: int, taken: list[str]) -> None:
    ports = world(0.5, "limits")
    asked(ports, slotted(ports, us(ports), receives=receives))
    assert calls(ports) == taken


def test_a_slot_that_was_missed_is_kept_for_longer_the_next_time() -> None:
    ports = world(0.5, "limits")
    pacing = Pacing(ports)
    asked(ports, request("first"), pacing=pacing)
    one = slotted(ports, us(ports, -100.0), late=2)
    asked(ports, one, pacing=pacing)
    assert slots(ports, one) == [Slot(us(ports, 1.0), 3, rates.rule_text(ONE))]


def test_a_first_slot_was_never_missed() -> None:
    ports = world(0.5, "limits")
    pacing = Pacing(ports)
    asked(ports, request("first"), pacing=pacing)
    asked(ports, request(), pacing=pacing)
    assert slots(ports, request()) == [Slot(us(ports, 1.0), 0, rates.rule_text(ONE))]


def test_a_slot_of_another_rule_is_none() -> None:
    ports = world(0.5, "limits")
    asked(ports, slotted(ports, us(ports), rule="1x1"))
    assert calls(ports) == ["begin"]


class Slow(memory.MemoryLimits):
    """Limits that take so many µs to answer."""

    def __init__(self, ports: Ports, late: int) -> None:
        """Let the time of *ports* pass."""
        super().__init__()
        self.ports, self.late = ports, late

    def begin(self, name: str, line: Line, limits: Paces) -> LineChanged:
        """Begin it, and answer late."""
        answer = super().begin(name, line, limits)
        advance(self.ports, self.late / SECOND)
        return answer


@pytest.mark.parametrize(("late", "runs"), [(LATE_US, ["a"]), (LATE_US + 1, [])])
def test_a_slot_that_passed_while_tickets_were_taken_is_asked_for_again(late: int, runs: list[str]) -> None:
    ports = world(0.5, "limits")
    ports.limits.port = Slow(ports, late)  # type: ignore[attr-defined]
    going, now = asked(ports, request("a"))
    assert names(going) == runs
    assert [one.message_id for one in now.given_back] == ([] if runs else ["a"])


def test_a_worker_of_its_own_rate_writes_no_slot_and_reads_none() -> None:
    ports = world(0.5, "limits")
    pacing = Pacing(ports)
    going, _ = asked(ports, request("a", per_worker=True), request("b", per_worker=True), pacing=pacing)
    assert (names(going), calls(ports)) == (["a"], [])
    assert [dict(sent.attributes) for sent in ports.queues.peek(QUEUE)] == [{}]
    assert asked(ports, slotted(ports, us(ports), per_worker=True), pacing=pacing)[0] == []


def test_without_keys_no_ticket_is_taken_for_a_slot_that_is_not_now() -> None:
    ports = without_keys(world(0.5, "limits"))
    pacing = Pacing(ports)
    going, now = asked(ports, request("a"), request("b"), request("c"), pacing=pacing)
    assert (names(going), calls(ports)) == (["a"], ["line", "begin"])
    assert [until for _, _, until in told(now)] == [round(ports.clock.now() + n, 3) for n in (1, 2)]
    assert [dict(sent.attributes) for sent in ports.queues.peek(QUEUE)] == [{}, {}]
    asked(ports, request("d"), pacing=pacing)
    assert calls(ports) == ["line"]


def starts(pacing: Pacing, ports: Ports, limits: Paces, per_worker: bool, seed: int) -> tuple[list[int], list[int]]:
    """When a worker lets tasks start that arrive at random, and when the rule does (GCRA, each pace for itself)."""
    draw, found, due = random.Random(seed), list[int](), list[int]()
    turns = [0] * len(limits)
    for _ in range(30):
        advance(ports, draw.choice((0.0, 0.25, 0.5, 1.0, 2.5, 7.0)))
        now, count = us(ports), draw.choice((1, 1, 2, 4))
        found += [now for _ in asked(ports, *(request(str(n), limits, per_worker) for n in range(count)), pacing=pacing)[0]]
        for _ in range(count):
            if all(turn - pace.tolerance <= now for turn, pace in zip(turns, limits, strict=True)):
                due.append(now)
                turns = [max(turn, now) + pace.every for turn, pace in zip(turns, limits, strict=True)]
    return found, due


@pytest.mark.parametrize("per_worker", [True, False])
@pytest.mark.parametrize(
    "limits", [(Pace(SECOND),), (Pace(SECOND, 3),), (Pace(SECOND, 2), Pace(4 * SECOND, 5)), (Pace(SECOND), Pace(3 * SECOND, 4))]
)
def test_tasks_that_take_only_slots_of_now_start_by_the_rule(limits: Paces, per_worker: bool) -> None:
    for seed in range(20):
        ports = without_keys(world(0.5))
        found, due = starts(Pacing(ports), ports, limits, per_worker, seed)
        assert found == due, seed


def test_a_thousand_lines_are_known_those_that_were_used_last() -> None:
    ports = world(0.5, "limits")
    pacing = Pacing(ports)
    for number in [*range(1_000), 0, 1_000]:
        asked(ports, request()._replace(key=f"n{number}"), pacing=pacing)
    for number, first in ((2, "join"), (0, "join"), (1_000, "join"), (1, "begin")):
        calls(ports)
        asked(ports, request()._replace(key=f"n{number}"), pacing=pacing)
        assert calls(ports)[0] == first, number
