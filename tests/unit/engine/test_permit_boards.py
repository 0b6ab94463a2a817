"""Permits of a limit above ten: the calls of a worker, and the messages in the line."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.batch import Batch, Job
from sedano.engine.limits.concurrency import PermitRequest, Permitting
from sedano.errors import Unavailable
from sedano.model.limits.concurrency import MOST_WAITING, RESERVED_MS, Board, Permit
from sedano.ports import Delivery, Ports
from tests.unit.engine.gated import QUEUE, FailsOnce, Fickle, asked, batch, job, sent_anew, told, waits, world

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


@pytest.mark.parametrize(("others", "calls_of_first"), [(999, ["take"]), (1_000, ["boards", "take"])])
def test_a_thousand_limits_are_known_also_those_that_were_only_read(others: int, calls_of_first: list[str]) -> None:
    ports, permits, now = world_and_permits()

    def ask(number: int) -> list[Job]:
        return permits.admit(PermitRequest(f"n{number}", [job("a")], 1 if number else 2, 1, LIMIT), now)

    assert len(ask(0)) == 1
    for number in range(1, others + 1):
        assert ports.limits.take(f"n{number}", Permit(0, ms(ports), "nonce", "another", ms(ports, 61.0)), "other", ms(ports)).done
        assert ask(number) == []
    permits.release(now)
    calls(ports)
    assert len(ask(0)) == 1
    assert calls(ports) == calls_of_first


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


def line_up(ports: Ports, *names_and_seconds: tuple[str, float]) -> None:
    """Let messages wait in the line for so many seconds more."""
    for place, (name, seconds) in enumerate(names_and_seconds):
        text = "\n".join((f"{place:013d}", QUEUE, f"receipt-{name}", name, str(ports.clock.now() + seconds)))
        assert ports.limits.line_up(NAME, text, ms(ports))


def woken(ports: Ports) -> list[str]:
    """Which messages were made visible, in order."""
    return [delivery.message_id for delivery, seconds in asked(ports.queues, "hold") if seconds == 0.0]


class Shared(memory.MemoryLimits):
    """Limits whose first message in line another worker takes out after the line was read."""

    def boards(self, name: str, count: int) -> Board:
        """Read, and let the other worker take the first out."""
        found = super().boards(name, count)
        if not count:
            assert self.leave_line(name, found.waiting[0])
        return found


def test_after_a_message_that_another_worker_wakes_the_next_of_the_line_is_woken() -> None:
    ports, permits, now = world_and_permits(0.0)
    limits: Any = ports.limits
    limits.port = Shared()
    admitted(permits, now, job("a"))
    line_up(ports, ("m0", 9.0), ("m1", 9.0))
    permits.release(now)
    assert woken(ports) == ["m1"], "the other worker wakes m0"


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        ("leave_line", "not answered whether a message waits; it is woken"),
        ("keep", "permit not kept for the message that is woken"),
    ],
)
def test_a_message_is_woken_whatever_call_before_has_no_answer(operation: str, text: str) -> None:
    ports, permits, now = world_and_permits(0.0)
    admitted(permits, now, job("a"))
    line_up(ports, ("m0", 9.0), ("m1", 9.0))
    Permitting(replace(ports, limits=FailsOnce(ports.limits, operation, Unavailable("throttled"))), "me").release(now)
    telemetry: Any = ports.telemetry
    assert (woken(ports), telemetry.messages()) == (["m0"], [text])


def test_after_a_message_of_the_line_that_its_queue_does_not_make_visible_the_next_is_woken() -> None:
    ports, permits, now = world_and_permits(0.0)
    admitted(permits, now, job("a"))
    line_up(ports, ("m0", 9.0), ("m1", 9.0))
    Permitting(replace(ports, queues=FailsOnce(ports.queues, "hold", Unavailable("throttled"))), "me").release(now)
    assert (woken(ports), ports.limits.boards(NAME, 1).permits[0].kept) == (["m1"], "m1")


def test_a_line_that_cannot_be_read_is_not_called_a_permit_that_is_not_given_back() -> None:
    ports, permits, now = world_and_permits(0.0)
    admitted(permits, now, job("a"))
    line_up(ports, ("m0", 9.0))
    Permitting(replace(ports, limits=FailsOnce(ports.limits, "boards", Unavailable("throttled"))), "me").release(now)
    telemetry: Any = ports.telemetry
    assert telemetry.messages() == ["line not read; its messages wait until a permit expires"]
    assert ports.limits.boards(NAME, 1).permits[0].expires == 0


def test_a_message_that_waited_long_and_that_the_line_refuses_is_sent_anew() -> None:
    ports, permits, now = world_and_permits()
    held(ports, range(LIMIT))
    limits: Any = ports.limits
    line_up(ports, *((f"m{number}", 9.0) for number in range(MOST_WAITING)))
    admitted(permits, now, sent_anew(job("a"), 4))
    assert (waits(now), seconds_held(ports)) == ({"a": 60.0}, [])
    refusing = Filling()
    refusing.__dict__.update({name: value for name, value in vars(limits.port).items() if name != "_waiting"}, _waiting={})
    limits.port = refusing
    admitted(Permitting(ports, "another"), now, sent_anew(job("b"), 4))
    assert waits(now) == {"a": 60.0, "b": 60.0}
