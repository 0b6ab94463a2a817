"""The steps of a revocation whose task changes between its two writes."""

from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.revocation.record import revoke
from sedano.errors import Unavailable
from sedano.model import states
from sedano.model.ledger.records import NO_RETRY, TERMINATE
from sedano.model.messages.lamport import LamportClock
from sedano.ports import Ports


class Changing:
    """A ledger whose task runs when it is to be revoked, and has been taken over or given back when it is to be marked, so many *times*."""

    def __init__(self, times: int) -> None:
        """Change *times* times."""
        self.left, self.asked = times, list[Any]()

    def revoke(self, *_: Any) -> Any:
        """Return the record that stands in the way."""
        return type("Record", (), {"state": states.RUNNING})

    def ask(self, _task_id: str, how: Any) -> bool:
        """Mark the running task."""
        self.asked.append(how)
        self.left -= 1
        return self.left < 0


def over(ledger: Any) -> tuple[Ports, LamportClock]:
    """The ports with this *ledger*, and a clock."""
    return replace(memory.ports(), ledger=ledger), LamportClock(lambda: 7)


@pytest.mark.parametrize(("terminate", "how"), [(True, TERMINATE), (False, NO_RETRY)])
def test_a_task_that_changed_in_between_is_revoked_at_the_next_attempt(terminate: bool, how: Any) -> None:
    ledger = Changing(2)
    assert revoke(*over(ledger), "a", terminate=terminate) == states.RUNNING
    assert ledger.asked == [how] * 3


def test_a_task_that_changes_each_time_is_not_said_to_be_revoked() -> None:
    ledger = Changing(100)
    with pytest.raises(Unavailable, match=r"^task a: it changed during each of 5 attempts to revoke it; try again$"):
        revoke(*over(ledger), "a", terminate=False)
    assert len(ledger.asked) == 5
