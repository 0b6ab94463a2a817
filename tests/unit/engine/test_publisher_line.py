"""The line before a queue: who leads a batch, who leaves, and what an interrupted leader leaves behind. No thread is started."""

from collections.abc import Sequence
from typing import Any

import pytest

from sedano.engine.publisher.sender import Publisher, _Line, _Ticket
from sedano.errors import SedanoError, TooLarge, Unavailable
from sedano.ports import Outgoing, deadlines
from tests.unit.engine.test_publisher import QUEUE, Gate, message, publisher


def ticket(body: str, *, gone: bool = False) -> _Ticket:
    """A message in line."""
    one = _Ticket(Outgoing(body))
    one.gone = gone
    return one


def busy(*waiting: _Ticket, most: int = 10) -> _Line:
    """A line whose only lane is taken."""
    line = _Line(1, most)
    line.free = 0
    line.waiting.extend(waiting)
    return line


def bodies(batch: Sequence[_Ticket]) -> list[str]:
    """What a batch would send."""
    return [one.outgoing.body for one in batch]


def is_woken(one: _Ticket) -> bool:
    """Tell whether its thread goes on."""
    return one.turn.acquire(blocking=False)


class Turn:
    """A turn that comes, does not come in time, or is waited for by a thread that has to end."""

    def __init__(self, *comes: bool | type[BaseException]) -> None:
        """Answer each attempt in turn."""
        self.comes, self.asked = iter(comes), list[Any]()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Answer."""
        self.asked.append(timeout if blocking else None)
        found = next(self.comes)
        if isinstance(found, bool):
            return found
        raise found

    def release(self) -> None:
        """Let it come."""


def turning(body: str, *comes: bool | type[BaseException]) -> tuple[_Ticket, list[Any]]:
    """A ticket with such a turn, and what was asked of it."""
    one, turn = ticket(body), Turn(*comes)
    one.turn = turn  # type: ignore[assignment]
    return one, turn.asked


def sender(gate: Any = None) -> Publisher:
    """A publisher."""
    return publisher(gate or Gate())[0]


def test_what_is_left_of_a_batch_goes_before_what_waits() -> None:
    stays, later = ticket("stays"), ticket("later")
    line = busy(later)
    line.hand_on([ticket("gone", gone=True), stays])
    assert bodies(stays.batch) == ["stays"]
    assert (is_woken(stays), is_woken(later), line.free, list(line.waiting)) == (True, False, 0, [later])


def test_when_nobody_is_left_the_next_that_wait_lead_and_else_the_lane_is_free() -> None:
    some = [ticket(body) for body in "abc"]
    line = busy(*some, most=2)
    line.hand_on([ticket("gone", gone=True)])
    assert bodies(some[0].batch) == ["a", "b"]
    assert ([is_woken(one) for one in some], list(line.waiting), line.free) == ([True, False, False], some[2:], 0)
    empty = busy()
    empty.hand_on(())
    assert empty.free == 1


def test_without_a_deadline_a_thread_waits_until_its_turn_comes_and_with_one_as_long_as_that_allows() -> None:
    line, (one, asked) = busy(), turning("a", True, True)
    sender()._wait(line, one)
    assert asked == [-1]
    with deadlines.within(5.0, 0.0):
        sender()._wait(line, one)
    assert asked == [-1, 5.0]
    assert (one.error, one.gone) == (None, False)


def test_a_thread_that_is_late_leaves_the_line_and_was_not_sent() -> None:
    one, _ = turning("a", False)
    line = busy(ticket("before"), one, ticket("after"))
    sender()._wait(line, one)
    assert bodies(list(line.waiting)) == ["before", "after"]
    assert isinstance(one.error, Unavailable)
    assert one.gone


def test_a_thread_that_is_late_hands_on_the_batch_that_it_was_to_lead() -> None:
    (one, _), other = turning("a", False), ticket("b")
    one.batch = [one, other]
    line = busy()
    sender()._wait(line, one)
    assert isinstance(one.error, Unavailable)
    assert (one.batch, bodies(other.batch), is_woken(other), line.free) == ([], ["b"], True, 0)


def test_a_thread_that_is_late_while_another_sends_its_message_was_not_sent_unless_it_was_answered_meanwhile() -> None:
    under_way, asked = turning("a", False, False)
    sender()._wait(busy(), under_way)
    assert isinstance(under_way.error, Unavailable)
    assert asked[1:] == [None], "it does not wait any more"
    answered, _ = turning("a", False, True)
    sender()._wait(busy(), answered)
    assert answered.error is None


def test_a_thread_that_has_to_end_leaves_the_line_and_ends() -> None:
    one, _ = turning("a", SystemExit)
    line = busy(one)
    with pytest.raises(SystemExit):
        sender()._wait(line, one)
    assert not line.waiting
    assert one.gone


def test_a_leader_answers_the_others_and_hands_the_lane_on() -> None:
    def answer(sent: list[str]) -> list[SedanoError | None]:
        return [TooLarge(body) if body == "b" else None for body in sent]

    batch, later = [ticket(body) for body in "abc"], ticket("later")
    line = busy(later)
    sender(Gate(answer))._lead(QUEUE, line, batch)
    assert [type(one.error) for one in batch] == [type(None), TooLarge, type(None)]
    assert [is_woken(one) for one in batch] == [False, True, True], "the leader does not wait"
    assert bodies(later.batch) == ["later"]


def test_a_leader_that_has_to_end_leaves_its_batch_in_front_of_the_line() -> None:
    def end(_: list[str]) -> list[SedanoError | None]:
        raise SystemExit(143)

    batch, later = [ticket("a"), ticket("b", gone=True), ticket("c"), ticket("d")], ticket("later")
    line = busy(later)
    with pytest.raises(SystemExit):
        sender(Gate(end))._lead(QUEUE, line, batch)
    assert bodies(batch[2].batch) == ["c", "d", "later"]
    assert [is_woken(one) for one in (*batch, later)] == [False, False, True, False, False]
    assert [one.error for one in batch] == [None] * 4


def test_each_queue_has_a_line_of_its_own_whose_free_lane_is_taken_back() -> None:
    line = sender()
    line.publish(message("a"))
    assert {queue: found.free for queue, found in line._lines.items()} == {QUEUE: 4}
