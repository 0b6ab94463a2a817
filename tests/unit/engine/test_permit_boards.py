"""Permits of a limit above ten: the calls of a worker, the messages in the line, and that no order of the steps loses a wake-up."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import greenlet
import pytest

from sedano import memory
from sedano.engine.batch import Batch, Job
from sedano.engine.limits.concurrency import PermitRequest, Permitting
from sedano.errors import Unavailable
from sedano.model.limits.concurrency import MOST_WAITING, RESERVED_MS, Board, BoardChanged, Permit
from sedano.ports import Delivery, Ports
from tests.unit.engine.gated import QUEUE, asked, batch, job, names, told, waits, world

NAME, LIMIT = "only/", 11


def ms(ports: Ports, seconds: float = 0.0) -> int:
    """The time in so many seconds, in ms."""
    return int((ports.clock.now() + seconds) * 1000)


def held(ports: Ports, numbers: Sequence[int], seconds: float = 61.0) -> list[Permit]:
    """Permits that another worker holds."""
    found = [Permit(number, ms(ports) + 1, f"nonce-{number}", f"another {number}", ms(ports, seconds + number)) for number in numbers]
    for permit in found:
        assert ports.limits.take(NAME, permit, "other", ms(ports)).done
    return found


def admitted(permits: Permitting, now: Batch, *jobs: Job, limit: int = LIMIT, lanes: int = 1, most: int = 0) -> list[Job]:
    """The jobs that may run."""
    return permits.admit(PermitRequest(NAME, jobs, limit, lanes, most), now)


def world_and_permits(unit: float = 0.25) -> tuple[Ports, Permitting, Batch]:
    """A worker of its own world, and its batch."""
    ports = world(unit, "limits")
    return ports, Permitting(ports, "me"), batch(ports)


def calls(ports: Ports) -> list[str]:
    """Which calls of the limits were made since the last time."""
    limits: Any = ports.limits
    found = [name for name, _ in limits.calls]
    limits.calls.clear()
    return found


def seconds_held(ports: Ports) -> list[float]:
    """For how long messages were made invisible, in order."""
    return [seconds for _, seconds in asked(ports.queues, "hold")]


def test_a_worker_reads_the_boards_before_its_first_permit_and_then_takes_what_it_believes_free() -> None:
    ports, permits, now = world_and_permits()
    assert [one.permit for one in admitted(permits, now, job("a"))] == [2], "a quarter of eleven"
    assert calls(ports) == ["boards", "take"]
    permits.release(now)
    assert calls(ports) == ["give_back", "boards"], "the line is read, and empty"
    assert len(admitted(permits, now, job("b"))) == 1
    assert calls(ports) == ["take"]


def test_the_only_free_permit_is_found_on_whatever_board_it_is() -> None:
    for free in range(LIMIT):
        ports, permits, now = world_and_permits(0.99)
        held(ports, [number for number in range(LIMIT) if number != free])
        assert [one.permit for one in admitted(permits, now, job("a"))] == [free]


def test_after_a_refused_permit_the_boards_are_read_again() -> None:
    ports, permits, now = world_and_permits(0.99)
    admitted(permits, now, job("a"))
    permits.release(now)
    held(ports, [10])
    calls(ports)
    assert [one.permit for one in admitted(permits, now, job("b"))] == [9]
    assert calls(ports) == ["take", "boards", "take"]


def test_a_message_that_comes_again_looks_for_the_permit_that_is_kept_for_it() -> None:
    ports, permits, now = world_and_permits(0.0)
    admitted(permits, now, job("a"))
    permits.release(now)
    (permit,) = held(ports, [7])
    ports.limits.give_back(NAME, permit)
    assert ports.limits.keep(NAME, permit, "b", ms(ports) + RESERVED_MS)
    assert [one.permit for one in admitted(permits, now, job("b", receives=2))] == [7]


def test_what_is_on_the_other_boards_is_remembered_beside_the_answer_of_one() -> None:
    ports, permits, now = world_and_permits(0.0)
    held(ports, range(10))
    assert [one.permit for one in admitted(permits, now, job("a"), limit=12)] == [10]
    calls(ports)
    assert [one.permit for one in admitted(permits, now, job("b"), limit=12)] == [11]
    assert calls(ports) == ["take"]


def test_the_answer_of_one_board_is_not_taken_for_all_boards() -> None:
    ports, permits, now = world_and_permits(0.0)
    admitted(permits, now, job("a"))
    other = Permitting(ports, "another lane")
    other.release(now)
    calls(ports)
    admitted(other, now, job("b"))
    assert calls(ports) == ["boards", "take"]


def test_boards_that_were_full_are_read_again_before_a_message_waits() -> None:
    ports, permits, now = world_and_permits()
    permit = held(ports, range(LIMIT))[5]
    assert admitted(permits, now, job("a")) == []
    ports.limits.give_back(NAME, permit)
    assert [one.permit for one in admitted(permits, now, job("b"))] == [5]


def test_a_limit_of_ten_has_no_line_to_read() -> None:
    ports, permits, now = world_and_permits()
    admitted(permits, now, job("a"), limit=10)
    permits.release(now)
    assert calls(ports) == ["take", "give_back"]


def test_a_permit_that_finds_the_first_board_empty_wakes_the_line() -> None:
    ports, permits, now = world_and_permits(0.0)
    admitted(permits, now, job("a"))
    permit, past, later = now.permits[0][1], ports.clock.now(), ports.clock.now() + 9.0
    assert ports.limits.wait(NAME, permit, f"{QUEUE}\nreceipt\nover\n{past}", ms(ports)).done
    assert ports.limits.line_up(NAME, f"{0:013d}\n{QUEUE}\nreceipt\nin line\n{later}", ms(ports))
    permits.release(now)
    assert [delivery.message_id for delivery, _ in asked(ports.queues, "hold")] == ["in line"]


class Fickle(memory.MemoryLimits):
    """Limits whose boards other workers change just before each take."""

    def take(self, name: str, permit: Permit, who: str, now: int) -> BoardChanged:
        """Refuse, with a board that has room."""
        return BoardChanged(False, Board(name))


def test_boards_that_change_during_each_of_six_attempts_are_taken_as_full() -> None:
    ports, permits, now = world_and_permits()
    limits: Any = ports.limits
    limits.port = Fickle()
    assert admitted(permits, now, job("a")) == []
    assert (len(asked(ports.limits, "take")), len(asked(ports.limits, "boards"))) == (6, 7)
    assert told(now) == [("a", "all 11 permits are held", round(ports.clock.now() + 3.75, 3))]


def test_a_message_without_a_permit_waits_in_the_line_until_the_first_permit_expires() -> None:
    ports, permits, now = world_and_permits()
    held(ports, range(LIMIT))
    calls(ports)
    assert admitted(permits, now, job("a")) == []
    assert calls(ports) == ["boards", "line_up", "boards"]
    until = ports.clock.now() + 62.25
    assert ports.limits.boards(NAME, 0).waiting == ("\n".join((f"{ms(ports):013d}", QUEUE, "receipt-a", "a", str(until))),)
    assert (seconds_held(ports), now.given_back) == ([62.25], [job("a").delivery])
    assert told(now) == [("a", "permit held by another 0", round(until, 3))]
    assert now.counts == {("PermitsBusy", "only"): 1}


def test_a_range_that_may_pass_ten_has_a_line_whatever_its_limit_is_now() -> None:
    ports, permits, now = world_and_permits()
    held(ports, range(2))
    admitted(permits, now, job("a"), limit=2, most=LIMIT)
    assert len(ports.limits.boards(NAME, 0).waiting) == 1
    admitted(permits, now, job("b"), limit=2, most=10)
    assert len(ports.limits.board(NAME).waiting) == 1


@pytest.mark.parametrize("number", [0, 10])
def test_a_permit_of_any_board_wakes_the_first_of_the_line_whose_wait_has_not_ended(number: int) -> None:
    ports, permits, now = world_and_permits(number / 10 * 0.99)
    (going,) = admitted(permits, now, job("a"))
    assert going.permit == number
    for place, seconds in enumerate((0.0, 0.5, 9.0)):
        text = "\n".join((f"{place:013d}", QUEUE, f"receipt-{place}", f"m{place}", str(ports.clock.now() + seconds)))
        assert ports.limits.line_up(NAME, text, ms(ports))
    permits.release(now)
    assert asked(ports.queues, "hold") == [(Delivery(QUEUE, "m1", "receipt-1", ""), 0.0)]
    board = ports.limits.boards(NAME, 2)
    assert (board.permits[number].kept, board.permits[number].expires, len(board.waiting)) == ("m1", ms(ports) + RESERVED_MS, 1)


def test_messages_that_wait_at_the_first_board_are_woken_before_the_line() -> None:
    ports, permits, now = world_and_permits(0.0)
    admitted(permits, now, job("a"))
    permit = now.permits[0][1]
    until = str(ports.clock.now() + 9.0)
    assert ports.limits.wait(NAME, permit, f"{QUEUE}\nreceipt\nat the board\n{until}", ms(ports)).done
    assert ports.limits.line_up(NAME, f"{0:013d}\n{QUEUE}\nreceipt\nin line\n{until}", ms(ports))
    permits.release(now)
    assert [delivery.message_id for delivery, _ in asked(ports.queues, "hold")] == ["at the board"]
    assert len(ports.limits.boards(NAME, 0).waiting) == 1


def test_where_ten_are_in_the_line_the_next_message_tries_again() -> None:
    ports, permits, now = world_and_permits()
    held(ports, range(LIMIT))
    for number in range(MOST_WAITING):
        ports.limits.line_up(NAME, str(number), ms(ports))
    admitted(permits, now, job("a"))
    assert (seconds_held(ports), len(asked(ports.limits, "line_up"))) == ([3.75], MOST_WAITING)


class Filling(memory.MemoryLimits):
    """Limits whose line fills up, or that go away, just before a message is put in."""

    error: Exception | None = None

    def line_up(self, name: str, message: str, now: int) -> bool:
        """Have no room."""
        if self.error is not None:
            raise self.error
        return False


@pytest.mark.parametrize("error", [None, Unavailable("limits: away")])
def test_a_message_that_found_no_place_tries_again(error: Exception | None) -> None:
    ports, permits, now = world_and_permits()
    limits: Any = ports.limits
    limits.port = Filling()
    limits.port.error = error
    held(ports, range(LIMIT))
    admitted(permits, now, job("a"))
    assert (seconds_held(ports), now.given_back) == ([62.25, 3.75], [job("a").delivery])
    assert told(now) == [("a", "permit held by another 0", round(ports.clock.now() + 3.75, 3))]


def test_a_task_without_a_claim_does_not_wait_in_the_line() -> None:
    ports, permits, now = world_and_permits()
    held(ports, range(LIMIT))
    admitted(permits, now, job("a", receives=10))
    assert (list(waits(now)), asked(ports.limits, "line_up")) == (["a"], [])


class Stepwise:
    """Stands for a port; before each call another actor may run."""

    def __init__(self, port: Any) -> None:
        """Pass every call on to *port*."""
        self.port = port

    def __getattr__(self, operation: str) -> Any:
        """Return the operation, before which the turn is given away."""

        def called(*args: Any) -> Any:
            greenlet.getcurrent().parent.switch()
            return getattr(self.port, operation)(*args)

        return called


def orders(run: Callable[[Sequence[int]], Sequence[tuple[int, int]]]) -> Iterator[None]:
    """Yield after each run, in every order of the steps of several actors: *run* takes choices and returns those made, and of how many."""
    choices: list[int] = []
    while True:
        made = run(choices)
        yield
        while made and made[-1][0] + 1 >= made[-1][1]:
            made = made[:-1]
        if not made:
            return
        choices = [choice for choice, _ in made[:-1]] + [made[-1][0] + 1]


class Blind(Permitting):
    """The planted fault: does not look again after a message is in line."""

    def _is_free(self, wanted: PermitRequest, job: Job) -> bool:
        return False


class Meeting:
    """A message that finds no permit, and a holder that gives one back, in one order of their steps."""

    def __init__(self, kind: type[Permitting]) -> None:
        """Hold all permits; the message is handled by *kind*."""
        self.ports = world(0.99, "limits")
        stepwise = replace(self.ports, limits=Stepwise(self.ports.limits), queues=Stepwise(self.ports.queues))
        held(self.ports, range(LIMIT - 1), 600.0)
        self.waiter, self.holder = kind(stepwise, "waiter"), Permitting(stepwise, "holder")
        self.waiters, self.holders = batch(self.ports), batch(self.ports)
        assert names(admitted(Permitting(self.ports, "holder"), self.holders, job("h"))) == ["h"]
        self.going: list[Job] = []

    def played(self, choices: Sequence[int]) -> list[tuple[int, int]]:
        """Let both act, in the order of *choices*; return the choices."""
        actors = [greenlet.greenlet(self._wait), greenlet.greenlet(lambda: self.holder.release(self.holders))]
        made: list[tuple[int, int]] = []
        while living := [actor for actor in actors if not actor.dead]:
            choice = choices[len(made)] if len(made) < len(choices) else 0
            made.append((choice, len(living)))
            living[choice].switch()
        return made

    def _wait(self) -> None:
        self.going = admitted(self.waiter, self.waiters, job("a"))

    @property
    def is_lost(self) -> bool:
        """Whether the message waits although a permit is free."""
        last = [seconds for delivery, seconds in asked(self.ports.queues, "hold") if delivery.message_id == "a"][-1:]
        return not self.going and (last != [0.0])


@pytest.mark.parametrize("kind", [Permitting, Blind])
def test_no_wake_up_is_lost_in_any_order_and_one_is_if_a_waiter_does_not_look_again(kind: type[Permitting]) -> None:
    meetings: list[Meeting] = []

    def run(choices: Sequence[int]) -> Sequence[tuple[int, int]]:
        meetings.append(Meeting(kind))
        return meetings[-1].played(choices)

    lost = [meetings[-1].is_lost for _ in orders(run)]
    assert len(lost) > 30
    assert any(lost) == (kind is Blind)
    assert any(one.going for one in meetings), "in some orders it gets the permit at once"
