"""When stored messages follow a publication: by one thread, not during a pause or near a deadline, and until none waits."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from sedano.engine.publisher.sender import DRAINED, LEAST_LEFT_S
from sedano.engine.publisher.spool import Taken
from sedano.errors import SedanoError
from sedano.memory.backlog import MemoryBacklog
from sedano.ports import deadlines
from tests.unit.engine.test_publisher import AWAY, Gate, Kept, message, publisher


class Shared(Kept):
    """A backlog whose messages another sender has while *held*; it notes each `take`, in which *during* is called."""

    def __init__(self, *bodies: str, held: bool = False) -> None:
        """Hold these."""
        super().__init__()
        self.extend(message(body) for body in bodies)
        self.held, self.takes, self.settled = held, 0, 0
        self.during: Callable[[], object] = list

    def take(self, most: int, now: float) -> list[Taken]:
        """Take some, unless another sender has them."""
        self.takes += 1
        found = [] if self.held else super().take(most, now)
        during, self.during = self.during, list
        during()
        return found

    def give_back(self, taken: Sequence[Any]) -> None:
        """Put some behind the others."""
        self.settled += 1
        super().give_back(taken)


def looks(line: Any, clock: Any, kept: Shared, seconds: float) -> list[float]:
    """Publish every half second; return the moments at which the backlog was asked."""
    began, found = clock.monotonic(), list[float]()
    while clock.monotonic() - began <= seconds:
        before = kept.takes
        line.publish(message("x"))
        found += [clock.monotonic() - began] * (kept.takes - before)
        clock.sleep(0.5)
    return found


def test_messages_that_another_sender_has_are_looked_for_again_after_growing_pauses_until_they_are_sent() -> None:
    kept = Shared("old", held=True)
    line, clock, _ = publisher(Gate(), backlog=kept)
    line.resume()
    assert looks(line, clock, kept, 95.0) == [0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 61.0, 91.0]
    assert kept.settled == 0, "it had nothing to give back"
    kept.held = False
    clock.sleep(30.0)
    line.publish(message("y"))
    assert kept == []
    assert looks(line, clock, kept, 5.0) == [0.0], "it is empty"


def test_a_backlog_that_does_not_answer_costs_one_call_in_each_pause_and_a_success_ends_the_pauses() -> None:
    kept = Shared("old", "new")
    line, clock, telemetry = publisher(Gate(lambda bodies: [AWAY if body == "new" else None for body in bodies]), backlog=kept)
    line.resume()
    kept.broken = "its Region is away"
    assert looks(line, clock, kept, 10.0) == [0.0, 1.0, 3.0, 7.0]
    assert telemetry.messages("error") == ["backlog not usable"] * 4
    kept.broken = ""
    clock.sleep(10.0)
    line.publish(message("y"))
    assert kept.bodies == ["new"]
    taken = kept.takes
    line.publish(message("y"))
    assert kept.takes == taken + 1, "one of the last was sent, so the next publication looks at once"
    line.publish(message("y"))
    assert kept.takes == taken + 1, "none was sent"


@pytest.mark.parametrize(("seconds", "takes"), [(0.1, 0), (LEAST_LEFT_S - 0.01, 0), (LEAST_LEFT_S, 1), (5.0, 1)])
def test_a_publication_whose_deadline_is_near_leaves_the_stored_messages_to_the_next(seconds: float, takes: int) -> None:
    kept = Shared("old")
    line, clock, _ = publisher(Gate(), backlog=kept)
    line.resume()
    with deadlines.within(seconds, clock.monotonic()):
        line.publish(message("x"))
    assert kept.takes == takes
    line.publish(message("y"))
    assert kept == []


def test_what_another_thread_stores_while_the_backlog_is_found_empty_is_sent_by_the_next_publication() -> None:
    def answer(bodies: list[str]) -> list[SedanoError | None]:
        return [AWAY if body == "stored" and not kept else None for body in bodies]

    class Unsure(Shared):
        def exists(self) -> bool:
            return not asked

    asked: list[int] = []
    kept = Unsure()
    line, clock, _ = publisher(Gate(answer), backlog=kept)
    line.resume()
    asked.append(1)
    kept.during = lambda: line.publish(message("stored"))
    line.publish(message("x"))
    assert kept.bodies == ["stored"]
    clock.sleep(1.0)
    line.publish(message("y"))
    assert kept == []


def test_one_thread_at_a_time_sends_what_is_stored() -> None:
    kept = Shared("old")
    line, _, _ = publisher(Gate(), backlog=kept)
    line.resume()
    kept.during = lambda: line.publish(message("beside"))
    line.publish(message("x"))
    assert (kept.takes, kept) == (1, [])
    kept.extend([message("later")])
    line.publish(message("y"))
    assert (kept.takes, kept) == (2, [])


def test_a_program_that_ends_or_drains_does_not_wait_for_the_pause() -> None:
    kept = Shared("old", held=True)
    line, _, _ = publisher(Gate(), backlog=kept)
    line.resume()
    line.publish(message("x"))
    assert (line.drain(), kept.takes) == (0, 2)
    kept.held = False
    assert (line.drain(), kept) == (1, [])


def test_a_program_whose_backlog_ends_with_it_gets_back_all_that_was_not_sent_when_it_ends() -> None:
    away = [True]
    backlog = MemoryBacklog()
    line, clock, _ = publisher(Gate(lambda bodies: [AWAY if away else None] * len(bodies)), backlog=backlog)
    bodies = [str(number) for number in range(2 * DRAINED + 1)]
    line.publish_or_keep([message(body) for body in bodies])
    assert sorted(one.outgoing.body for one in line.close()) == sorted(bodies)
    backlog.give_back(backlog.take(len(bodies), clock.now() + 60.0))
    away.clear()
    assert line.close() == []
    assert not backlog.exists()


def test_a_backlog_that_another_sender_has_emptied_begins_no_pause() -> None:
    kept = Shared("old")
    line, _, _ = publisher(Gate(lambda bodies: [AWAY if body == "new" and not kept else None for body in bodies]), backlog=kept)
    line.resume()
    kept.clear()
    line.publish(message("x"))
    line.publish(message("new"))
    assert kept.bodies == ["new"]
    line.publish(message("y"))
    assert kept == []
