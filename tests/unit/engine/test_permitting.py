"""Permits alone: which calls a worker makes for them, what it knows of them, how long a task without one waits, and who is woken."""

from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.batch import Batch, Job
from sedano.engine.limits.concurrency import PermitRequest, Permitting
from sedano.errors import Unavailable
from sedano.model.limits.concurrency import MOST_WAITING, RESERVED_MS, BoardChanged, Permit
from sedano.model.limits.task_limits import Range
from sedano.ports import Delivery, Ports
from tests.unit.engine.gated import QUEUE, FailsOnce, Fickle, advance, asked, batch, job, names, sent_anew, told, waits, world

NAME = "only/"


def ms(ports: Ports, seconds: float = 0.0) -> int:
    """The time in so many seconds, in ms."""
    return int((ports.clock.now() + seconds) * 1000)


def held(ports: Ports, name: str = NAME, seconds: float = 61.0) -> Permit:
    """The only permit of *name*, which another worker holds."""
    permit = Permit(0, 1, "nonce", "another", ms(ports, seconds))
    assert ports.limits.take(name, permit, "other", ms(ports)).done
    return permit


def admitted(permits: Permitting, now: Batch, *jobs: Job, limit: int = 1, lanes: int = 1, name: str = NAME) -> list[Job]:
    """The jobs that may run."""
    return permits.admit(PermitRequest(name, jobs, limit, lanes), now)


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


def test_a_suspended_task_is_looked_at_again_in_some_minutes() -> None:
    ports, permits, now = world_and_permits(0.5)
    assert admitted(permits, now, job("a"), limit=0) == []
    assert waits(now) == {"a": 300.0 * 0.875}
    assert told(now) == [("a", "suspended: concurrency is 0", round(ports.clock.now() + 262.5, 3))]


def test_bodies_that_run_one_after_the_other_share_a_permit() -> None:
    _, permits, now = world_and_permits()
    going = admitted(permits, now, job("a"), job("b"), job("c"), limit=5, lanes=1)
    assert (names(going), len(now.permits)) == (["a", "b", "c"], 1)
    assert len({(one.token, one.permit) for one in going}) == 1


def test_bodies_that_run_at_once_have_a_permit_each() -> None:
    _, permits, now = world_and_permits()
    going = admitted(permits, now, job("a"), job("b"), job("c"), limit=2, lanes=3)
    assert (names(going), len(now.permits)) == (["a", "b"], 2)
    assert sorted(one.permit for one in going) == [0, 1]


def test_a_permit_lasts_as_long_as_the_invocation_and_says_who_holds_it() -> None:
    ports, permits, now = world_and_permits()
    (going,) = admitted(permits, now, job("a"))
    found = ports.limits.board(NAME).permits[0]
    assert (found.expires, found.token, found.owner) == (ms(ports, 10.0) + 1_000, ms(ports), "only a on me")
    assert (going.token, going.permit) == (found.token, 0)


def test_those_without_a_permit_wait_and_the_first_of_them_is_woken() -> None:
    ports, permits, now = world_and_permits()
    held(ports)
    assert admitted(permits, now, job("a", receives=3), job("b", receives=3), job("c", receives=3), lanes=3) == []
    seconds, until = 62.25, round(ports.clock.now() + 62.25, 3)
    later = round(ports.clock.now() + 5 * 0.75, 3)
    full = "all 1 permits are held"
    assert sorted(told(now)) == [("a", "permit held by another", until), ("b", full, later), ("c", full, later)]
    assert {delivery.message_id: wait for delivery, wait in asked(ports.queues, "hold")} == {"a": seconds, "b": 3.75, "c": 3.75}
    assert now.counts == {("PermitsBusy", "only"): 3}
    ((_, _, receipt, at),) = asked(ports.limits, "wait")
    assert (receipt, at) == ("\n".join((QUEUE, "receipt-a", "a", str(ms(ports) / 1000 + seconds))), ms(ports))


def test_a_task_that_waited_often_waits_longer_than_the_permit_lasts() -> None:
    ports, permits, now = world_and_permits()
    held(ports, seconds=9.0)
    admitted(permits, now, sent_anew(job("a"), 2))
    assert [seconds for _, seconds in asked(ports.queues, "hold")] == [20.25]


@pytest.mark.parametrize("limit", [1, 11])
def test_wake_ups_make_no_wait_longer(limit: int) -> None:
    ports, permits, now = world_and_permits()
    held(ports, seconds=2.0)
    for number in range(1, limit):
        assert ports.limits.take(NAME, Permit(number, 1, f"n{number}", "another", ms(ports, 2.0)), "other", ms(ports)).done
    admitted(permits, now, job("a", receives=9), job("b", receives=9), limit=limit, lanes=2)
    admitted(permits, now, sent_anew(job("c", receives=9), 1), limit=limit)
    assert [seconds for _, seconds in asked(ports.queues, "hold")] == [5.25, 3.75, 10.25]


@pytest.mark.parametrize(("unit", "seconds"), [(0.0, 2.5), (0.25, 3.75)])
def test_what_was_woken_in_vain_too_often_leaves_no_receipt(unit: float, seconds: float) -> None:
    ports, permits, now = world_and_permits(unit)
    held(ports)
    admitted(permits, now, job("a", receives=10))
    assert (waits(now), asked(ports.limits, "wait")) == ({"a": seconds}, [])


@pytest.mark.parametrize(("unit", "seconds"), [(0.0, 2.5), (0.25, 3.75)])
def test_where_ten_wait_already_the_next_one_tries_again(unit: float, seconds: float) -> None:
    ports, permits, now = world_and_permits(unit)
    permit = held(ports)
    for number in range(MOST_WAITING):
        assert ports.limits.wait(NAME, permit, str(number), ms(ports)).done
    admitted(permits, now, job("a"))
    assert [seconds for _, seconds in asked(ports.queues, "hold")] == [seconds]
    assert told(now) == [("a", "permit held by another", round(ports.clock.now() + seconds, 3))]


class Away(memory.MemoryLimits):
    """Limits that take no receipts."""

    def wait(self, name: str, seen: Permit, message: str, now: int) -> BoardChanged:
        """Be away."""
        raise Unavailable("limits: away")


def test_a_task_whose_receipt_was_not_taken_tries_again() -> None:
    ports, permits, now = world_and_permits()
    limits: Any = ports.limits
    limits.port = Away()
    held(ports)
    admitted(permits, now, job("a"))
    assert [seconds for _, seconds in asked(ports.queues, "hold")] == [62.25, 3.75]
    assert [delivery.message_id for delivery in now.given_back] == ["a"]


def test_a_message_that_waited_long_and_finds_no_place_is_sent_anew() -> None:
    ports, permits, now = world_and_permits()
    permit = held(ports)
    for number in range(MOST_WAITING):
        assert ports.limits.wait(NAME, permit, str(number), ms(ports)).done
    admitted(permits, now, sent_anew(job("a"), 4))
    assert (waits(now), asked(ports.queues, "hold")) == ({"a": 60.0}, [])


def test_a_full_board_is_known_from_the_refusal_and_read_before_the_next_task_waits() -> None:
    ports, permits, now = world_and_permits()
    held(ports)
    calls(ports)
    admitted(permits, now, job("a"))
    assert calls(ports) == ["take", "wait"]
    admitted(permits, now, job("b"))
    assert calls(ports) == ["board", "wait"]


def test_a_permit_that_was_given_back_is_taken_without_a_read() -> None:
    ports, permits, now = world_and_permits()
    admitted(permits, now, job("a"))
    permits.release(now)
    calls(ports)
    assert names(admitted(permits, now, job("b"))) == ["b"]
    assert calls(ports) == ["take"]


def test_a_thousand_boards_are_known_those_that_were_used_last() -> None:
    ports, permits, now = world_and_permits()
    for number in range(1, 1_001):
        held(ports, f"n{number}")
    for number in [*range(1_000), 0, 1_000]:
        admitted(permits, now, job("a"), name=f"n{number}", limit=1 if number else 2)
    for number, known in ((2, True), (0, True), (1_000, True), (1, False)):
        calls(ports)
        admitted(permits, now, job("a"), name=f"n{number}", limit=1 if number else 2)
        assert calls(ports)[0] == ("board" if known else "take"), number


def waiting(ports: Ports, permits: Permitting, now: Batch, *seconds: float) -> Permit:
    """The permit of a run, for which messages wait for so many seconds more."""
    admitted(permits, now, job("a"))
    permit = now.permits[0][1]
    for number, one in enumerate(seconds):
        until = str(ports.clock.now() + one)
        assert ports.limits.wait(NAME, permit, "\n".join((QUEUE, f"receipt-{number}", f"m{number}", until)), ms(ports)).done
    return permit


def test_the_first_whose_wait_has_not_ended_is_woken_and_the_permit_is_kept_for_it() -> None:
    ports, permits, now = world_and_permits()
    waiting(ports, permits, now, 0.0, 0.5, 9.0)
    permits.release(now)
    assert asked(ports.queues, "hold") == [(Delivery(QUEUE, "m1", "receipt-1", ""), 0.0)]
    board = ports.limits.board(NAME)
    assert (board.permits[0].kept, board.permits[0].expires, len(board.waiting)) == ("m1", ms(ports) + RESERVED_MS, 1)


def test_a_message_that_another_worker_wakes_is_not_woken_here() -> None:
    ports, permits, now = world_and_permits()
    limits: Any = ports.limits
    limits.port = Called()
    waiting(ports, permits, now, 9.0)
    permits.release(now)
    assert asked(ports.queues, "hold") == []


class Crowded(memory.MemoryLimits):
    """Limits whose first waiting message another worker takes off between a return and its call, with a permit of its own."""

    def give_back(self, name: str, permit: Permit) -> BoardChanged:
        """Give back, and let the other worker give back and call."""
        answer = super().give_back(name, permit)
        other = answer.board.permits[1]
        assert super().give_back(name, other).done
        first = answer.board.waiting[0]
        assert self.call(name, other, first, first.split("\n")[2], other.token + RESERVED_MS).done
        return answer


def test_two_permits_that_are_given_back_at_once_wake_two_messages() -> None:
    ports, permits, now = world_and_permits(0.0)
    limits: Any = ports.limits
    limits.port = Crowded()
    admitted(permits, now, job("a"), limit=2)
    permit = now.permits[0][1]
    assert ports.limits.take(NAME, Permit(1, 1, "nonce", "another", ms(ports, 60.0)), "x", ms(ports)).done
    for number in range(2):
        until = str(ports.clock.now() + 9.0)
        assert ports.limits.wait(NAME, permit, "\n".join((QUEUE, f"receipt-{number}", f"m{number}", until)), ms(ports)).done
    permits.release(now)
    assert [delivery.message_id for delivery, _ in asked(ports.queues, "hold")] == ["m1"], "the other worker wakes m0"


class Called(memory.MemoryLimits):
    """Limits whose waiting messages another worker takes off first."""

    def call(self, name: str, permit: Permit, first: str, who: str, until: int) -> BoardChanged:
        """Refuse."""
        board = self.board(name)
        return BoardChanged(False, board._replace(waiting=board.waiting[1:]))


def test_a_permit_that_another_holds_by_now_wakes_no_one() -> None:
    ports, permits, now = world_and_permits()
    waiting(ports, permits, now, 60.0)
    advance(ports, 20.0)
    assert ports.limits.take(NAME, Permit(0, ms(ports), "nonce", "another", ms(ports, 60.0)), "x", ms(ports)).done
    calls(ports)
    permits.release(now)
    assert (calls(ports), now.permits) == (["give_back"], [])


class Overtaken(memory.MemoryLimits):
    """Limits where another worker takes each permit just after it is given back."""

    def give_back(self, name: str, permit: Permit) -> BoardChanged:
        """Give back, and let the other worker take it."""
        answer = super().give_back(name, permit)
        assert self.take(name, permit._replace(nonce="x", token=permit.token + 1), "x", permit.token + 5_000).done
        return answer


def test_after_a_permit_was_taken_by_another_its_holder_calls_once() -> None:
    ports, permits, now = world_and_permits()
    limits: Any = ports.limits
    limits.port = Overtaken()
    waiting(ports, permits, now, *[9.0] * MOST_WAITING)
    calls(ports)
    permits.release(now)
    assert calls(ports) == ["give_back", "call"]
    assert (asked(ports.queues, "hold"), len(ports.limits.board(NAME).waiting)) == ([], MOST_WAITING)


def test_a_permit_that_is_over_by_some_clocks_alone_is_asked_for_once() -> None:
    ports, permits, now = world_and_permits()
    held(ports, seconds=-0.5)
    calls(ports)
    assert admitted(permits, now, job("a")) == []
    assert calls(ports) == ["take", "wait"]
    assert [seconds for _, seconds in asked(ports.queues, "hold")] == [5.25, 3.75]


class Retaken(memory.MemoryLimits):
    """Limits whose only permit goes from one holder to the next before the first message waits."""

    def wait(self, name: str, seen: Permit, message: str, now: int) -> BoardChanged:
        """Let the next holder take the permit that the message saw."""
        if seen.token == 1:
            assert self.give_back(name, seen).done
            assert self.take(name, seen._replace(token=2, nonce="next"), "x", now).done
        return super().wait(name, seen, message, now)


def test_a_message_waits_for_the_next_holder_of_the_permit_that_it_saw() -> None:
    ports, permits, now = world_and_permits()
    limits: Any = ports.limits
    limits.port = Retaken()
    held(ports)
    admitted(permits, now, job("a"))
    assert [seconds for _, seconds in asked(ports.queues, "hold")] == [62.25]
    assert len(ports.limits.board(NAME).waiting) == 1


def failing(ports: Ports, port: str, operation: str, owner: str = "me") -> Permitting:
    """A worker whose first call of that operation has no answer."""
    broken = FailsOnce(getattr(ports, port), operation, Unavailable("throttled"))
    return Permitting(replace(ports, **{port: broken}), owner)


def test_a_message_whose_call_has_no_answer_is_woken_all_the_same() -> None:
    ports, permits, now = world_and_permits()
    waiting(ports, permits, now, 9.0, 9.0)
    failing(ports, "limits", "call").release(now)
    assert [(delivery.message_id, seconds) for delivery, seconds in asked(ports.queues, "hold")] == [("m0", 0.0)]
    assert lines(ports) == ["not answered whether a message waits; it is woken"]


def test_after_a_message_that_its_queue_does_not_make_visible_the_next_is_woken() -> None:
    ports, permits, now = world_and_permits()
    waiting(ports, permits, now, 9.0, 9.0)
    failing(ports, "queues", "hold").release(now)
    assert [(delivery.message_id, seconds) for delivery, seconds in asked(ports.queues, "hold")] == [("m1", 0.0)]
    assert ports.limits.board(NAME).permits[0].kept == "m1"
    assert lines(ports) == ["message not woken; it is delivered when its wait is over"]


def test_a_permit_that_is_not_given_back_wakes_no_one_and_the_log_says_so() -> None:
    ports, permits, now = world_and_permits()
    waiting(ports, permits, now, 9.0)
    failing(ports, "limits", "give_back").release(now)
    assert (asked(ports.queues, "hold"), lines(ports)) == ([], ["permit not given back; it will expire"])


def lines(ports: Ports) -> list[str]:
    """The texts in the log."""
    telemetry: Any = ports.telemetry
    return list(telemetry.messages())


def test_a_board_that_changes_during_each_of_six_attempts_is_taken_as_full() -> None:
    ports, permits, now = world_and_permits()
    limits: Any = ports.limits
    limits.port = Fickle()
    assert admitted(permits, now, job("a")) == []
    assert len(asked(ports.limits, "take")) == 6
    assert told(now) == [("a", "all 1 permits are held", round(ports.clock.now() + 3.75, 3))]


def test_a_strategy_is_asked_at_limited_intervals_and_the_low_end_holds_where_it_fails() -> None:
    ports, permits, _ = world_and_permits()
    answers: list[Any] = [7, 99, ValueError("no"), 0]
    left: list[int] = []

    def strategy() -> int:
        answer = answers.pop(0)
        left.append(len(answers))
        if isinstance(answer, Exception):
            raise answer
        return int(answer)

    between = Range(2, 10, strategy, every=5.0)
    assert permits.limit_of("only", 3) == 3
    found = []
    for seconds in (0.0, 4.875, 0.125, 4.875, 0.125, 4.875, 0.125):
        advance(ports, seconds)
        found.append(permits.limit_of("only", between))
    assert found == [7, 7, 10, 10, 2, 2, 2]
    assert left == [3, 2, 1, 0]
    telemetry: Any = ports.telemetry
    assert [line.fields for line in telemetry.lines] == [{"task": "only", "error": "ValueError: no"}]
    answers.append(4)
    assert permits.limit_of("other", between) == 4, "each task has its own"


def test_no_beat_extends_a_message_that_waits_for_a_permit() -> None:
    ports, permits, now = world_and_permits()
    extended = list[bool]()

    class Looked:
        def __getattr__(self, operation: str) -> Any:
            if operation == "wait":
                extended.append(now.is_extended(job("b").delivery))
            return getattr(ports.limits, operation)

    assert len(admitted(permits, now, job("a"), limit=1)) == 1
    permits.ports = replace(ports, limits=Looked())  # type: ignore[arg-type]
    assert admitted(permits, now, job("b"), limit=1) == []
    assert extended == [False]
