"""No order of the steps of a message that waits for a permit, and of a worker that gives one back, loses a wake-up."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import greenlet
import pytest

from sedano.engine.batch import Job
from sedano.engine.limits.concurrency import PermitRequest, Permitting
from sedano.model.limits.concurrency import Board, Permit
from sedano.ports import Ports
from tests.unit.engine.gated import asked, batch, job, names, world

NAME = "only/"


def held(ports: Ports, numbers: Sequence[int]) -> None:
    """Let another worker hold these permits; the first of them expires first."""
    now = int(ports.clock.now() * 1000)
    for number in numbers:
        permit = Permit(number, now + 1, f"nonce-{number}", f"another {number}", now + 1000 * (600 + number))
        assert ports.limits.take(NAME, permit, "other", now).done


def admitted(permits: Permitting, now: Any, one: Job, limit: int) -> list[Job]:
    """The jobs that may run."""
    return permits.admit(PermitRequest(NAME, [one], limit, 1), now)


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
    """The planted fault: does not look again after a message waits."""

    def _is_free(self, wanted: PermitRequest, job: Job) -> bool:
        return False

    def _wake(self, board: Board, permit: Permit) -> bool:
        return False


class Meeting:
    """A message that finds no permit, and a holder that gives one back, in one order of their steps."""

    def __init__(self, kind: type[Permitting], limit: int, lasts: float) -> None:
        """Hold all permits, that of the holder for so many seconds; the message is handled by *kind*."""
        self.limit, self.ports = limit, world(0.99, "limits")
        stepwise = replace(self.ports, limits=Stepwise(self.ports.limits), queues=Stepwise(self.ports.queues))
        held(self.ports, range(limit - 1))
        self.waiter, self.holder = kind(stepwise, "waiter"), Permitting(stepwise, "holder")
        self.waiters, self.holders = batch(self.ports), batch(self.ports, lasts)
        assert names(admitted(Permitting(self.ports, "holder"), self.holders, job("h"), limit)) == ["h"]
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
        self.going = admitted(self.waiter, self.waiters, job("a"), self.limit)

    @property
    def is_lost(self) -> bool:
        """Whether the message waits although a permit is free."""
        last = [seconds for delivery, seconds in asked(self.ports.queues, "hold") if delivery.message_id == "a"][-1:]
        return not self.going and (last != [0.0])


def played(kind: type[Permitting], limit: int, lasts: float) -> list[Meeting]:
    """Return the meetings in all orders."""
    meetings: list[Meeting] = []

    def run(choices: Sequence[int]) -> Sequence[tuple[int, int]]:
        meetings.append(Meeting(kind, limit, lasts))
        return meetings[-1].played(choices)

    for _ in orders(run):
        pass
    return meetings


@pytest.mark.parametrize("lasts", [10.0, 900.0])
@pytest.mark.parametrize("limit", [1, 2, 10, 11])
def test_no_wake_up_is_lost_in_any_order(limit: int, lasts: float) -> None:
    meetings = played(Permitting, limit, lasts)
    assert len(meetings) > 10
    assert [one for one in meetings if one.is_lost] == []
    assert any(one.going for one in meetings), "in some orders it gets the permit at once"


@pytest.mark.parametrize("limit", [2, 10, 11])
def test_one_is_lost_if_a_waiter_does_not_look_again(limit: int) -> None:
    assert any(one.is_lost for one in played(Blind, limit, 900.0))
