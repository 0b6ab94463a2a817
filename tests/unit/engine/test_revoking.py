"""The steps of a revocation, also of a task that changes between its two writes, and who ends a revoked task: a checkpoint and a gate."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.batch import Stillborn
from sedano.engine.revocation.record import Checkpoint, revoke
from sedano.engine.revocation.revocation_gate import Revocations
from sedano.engine.revocation.timed_tasks import withdraw
from sedano.errors import TaskRevoked, Unavailable
from sedano.model import refusals, states
from sedano.model.cluster.control_record import ControlRecord
from sedano.model.ledger.records import NO_RETRY, TERMINATE, Claim, TaskRecord
from sedano.model.messages.lamport import LamportClock
from sedano.ports import Ports
from sedano.ports.absent import Absent
from tests.unit.engine.gated import advance, asked, job, world


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


class Stage:
    """Ports that note calls, and a running task `a`."""

    def __init__(self) -> None:
        """Claim it."""
        self.ports, self.lamport = world(0.5, "ledger", "timers"), LamportClock(lambda: 7)
        self.ports.ledger.claim([Claim("a", 0, "a", "n", self.ports.clock.now() + 1e6, 1, "only")])

    def reads(self) -> int:
        """How often the ledger was read."""
        return len(asked(self.ports.ledger, "read"))

    def revoked(self, task_id: str, terminate: bool = False) -> str:
        """Revoke a task."""
        return revoke(self.ports, self.lamport, task_id, terminate=terminate)


def test_a_revocation_returns_the_state_in_which_it_leaves_the_task() -> None:
    stage = Stage()
    assert (stage.revoked("a"), stage.revoked("b"), stage.revoked("b")) == (states.RUNNING, states.REVOKED, states.REVOKED)
    assert [(record.state, record.asked) for record in stage.ports.ledger.read(["a", "b"]).values()] == [
        (states.RUNNING, NO_RETRY),
        (states.REVOKED, 0),
    ]
    assert stage.ports.ledger.read(["b"])["b"].clock == 8
    ended = type("Ended", (Changing,), {"revoke": lambda *_: TaskRecord("c", states.FAILURE)})(0)
    assert (revoke(*over(ended), "c", terminate=True), ended.asked) == (states.FAILURE, [])


def test_a_body_reads_whether_it_must_end_at_most_once_a_second() -> None:
    stage = Stage()
    check = Checkpoint(stage.ports, "a", 1)
    check()
    assert stage.reads() == 1, "the first checkpoint reads at once"
    stage.revoked("a", terminate=True)
    advance(stage.ports, 0.875)
    check()
    assert stage.reads() == 1
    advance(stage.ports, 0.125)
    with pytest.raises(TaskRevoked, match="task a was revoked while it ran"):
        check()
    assert stage.reads() == 2


def test_a_body_goes_on_where_it_was_only_asked_not_to_be_tried_again() -> None:
    stage = Stage()
    stage.revoked("a")
    Checkpoint(stage.ports, "a", 1)()
    Checkpoint(stage.ports, "without a record", 1)()
    assert stage.reads() == 2


def test_a_body_that_was_taken_over_and_ended_as_revoked_ends_too() -> None:
    stage = Stage()
    stage.revoked("b")
    with pytest.raises(TaskRevoked):
        Checkpoint(stage.ports, "b", 1)()


def test_a_checkpoint_without_an_answer_is_logged_and_asks_again_a_second_later() -> None:
    stage = Stage()
    stage.revoked("a", terminate=True)
    ledger: Any = stage.ports.ledger
    whole = ledger.port
    ledger.port = type("Away", (), {"read": unanswered})()
    check = Checkpoint(stage.ports, "a", 1)
    check()
    ledger.port = whole
    check()
    telemetry: Any = stage.ports.telemetry
    assert [(line.level, line.fields) for line in telemetry.lines] == [("warning", {"task_id": "a", "error": "away"})]
    advance(stage.ports, 1.0)
    with pytest.raises(TaskRevoked):
        check()


def unanswered(*_: Any) -> Any:
    """Be away."""
    raise Unavailable("away")


def test_only_the_timer_of_a_task_that_is_revoked_before_it_ran_is_cancelled() -> None:
    stage = Stage()
    assert withdraw(stage.ports, stage.lamport, "a", terminate=True) == states.RUNNING
    assert stage.ports.ledger.read(["a"])["a"].asked == TERMINATE
    assert withdraw(stage.ports, stage.lamport, "b", terminate=False) == states.REVOKED
    assert asked(stage.ports.timers, "cancel") == [("b",)]
    without: Any = {"timers": Absent("timers")}
    assert withdraw(replace(stage.ports, **without), stage.lamport, "c", terminate=False) == states.REVOKED


def gate(**revoked: int) -> Revocations:
    """The gate of a worker that knows that these headers are revoked."""
    known: Any = SimpleNamespace(control=ControlRecord(revoked={name.replace("_", "="): since for name, since in revoked.items()}))
    return Revocations(known)


def test_a_job_that_is_revoked_by_a_header_or_its_queue_ends_and_names_the_pair() -> None:
    one = job("a")
    one = one._replace(command=one.command._replace(tenant="acme"))
    end = Stillborn(states.REVOKED, refusals.REVOKED, "tenant", "revoked by tenant=acme")
    assert gate(tenant_acme=1).open(one) == end
    assert gate(tenant_acme=1).begin(one, 0.0, ()) == end
    assert gate(tenant_acme=1).begin(one, 0.0, None) is None, "nothing was read anew"
    assert gate(queue_default=1).open(one) == Stillborn(states.REVOKED, refusals.REVOKED, "queue", "revoked by queue=default")
    assert gate(tenant_other=1).open(one) is None
    assert gate().open(one) is None


def test_a_job_that_is_revoked_by_its_id_does_not_begin() -> None:
    end = Stillborn(states.REVOKED, refusals.REVOKED, "taskid", "revoked before it began")
    assert gate().begin(job("a"), 0.0, {"a", "b"}) == end
    assert gate().begin(job("c"), 0.0, {"a", "b"}) is None
