"""The record step alone: runs that are recorded together, each by its own answer."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.batch import Judged, Ran
from sedano.engine.worker.recording import MOST_DRAFTS, Recording, Refused, goes_together
from sedano.errors import ConfigurationError, MessageRefused, SedanoError, Unavailable
from sedano.model import states
from sedano.model.effects import TableWrite
from sedano.model.ledger.records import INLINE_BYTES, Claim, Outcome, TaskRecord
from sedano.model.messages.message import PACK
from tests.unit.engine.gated import job
from tests.unit.engine.test_judging import ERROR, Stage, draft, ran

HELD = TaskRecord("a", states.RUNNING, fence=1, nonce="n")


class Answers(memory.MemoryLedger):
    """A ledger in memory that notes which outcomes were recorded together, and gives an error for some of them."""

    def __init__(self, *away: str, raises: Exception | None = None) -> None:
        super().__init__(memory.VirtualClock(memory.START))
        self.away, self.raises = away, raises
        self.together: list[list[str]] = []

    def record(self, outcomes: Sequence[Outcome]) -> list[Any]:
        """Record all that are not away."""
        self.together.append([outcome.task_id for outcome in outcomes])
        if self.raises is not None:
            raise self.raises
        return [Unavailable("away") if one.task_id in self.away else super(Answers, self).record([one])[0] for one in outcomes]


class Steps:
    """A recording over a ledger, and what it tells."""

    def __init__(self, ledger: Answers) -> None:
        """Tell nobody yet."""
        self.stage = Stage()
        self.ports = replace(self.stage.ports, ledger=ledger)
        self.told: list[tuple[str, bool]] = []
        self.recording = Recording(self.ports, self.stage.judging, None, lambda one, end: self.told.append((name(one), end is not None)))

    def held(self, task_id: str, **run: Any) -> Ran:
        """A run that holds the claim of its task."""
        claim = Claim(task_id, 0, task_id, f"nonce-{task_id}", self.ports.clock.now() + 60, 1, "only")
        (answer,) = self.ports.ledger.claim([claim])
        assert not isinstance(answer, SedanoError)
        return ran(job(task_id), record=answer.record, result="1", value=1, **run)


def name(one: Ran) -> str:
    """Its task."""
    return one.held.job.command.task_id


def test_runs_that_wait_together_are_recorded_by_one_call_and_each_is_told() -> None:
    steps = Steps(ledger := Answers())
    runs = [steps.held(task_id) for task_id in "abc"]
    answers = steps.recording.conclude_together(runs)
    assert ledger.together == [["a", "b", "c"]]
    assert [isinstance(answer, Judged) and name(answer.ran) for answer in answers] == ["a", "b", "c"]
    assert steps.told == [("a", True), ("b", True), ("c", True)]
    assert {record.state for record in ledger.read(["a", "b", "c"]).values()} == {states.SUCCESS}


def test_each_run_has_its_own_answer() -> None:
    steps = Steps(ledger := Answers("b"))
    first, away, late = (steps.held(task_id) for task_id in "abc")
    assert late.held.record is not None
    late = late._replace(held=late.held._replace(record=late.held.record._replace(nonce="of a claim that was taken over", fence=0)))
    good, unanswered, refused = steps.recording.conclude_together([first, away, late])
    assert isinstance(good, Judged)
    assert isinstance(unanswered, Unavailable)
    assert isinstance(refused, Refused)
    assert refused.record is not None
    assert refused.record.state == states.RUNNING
    assert steps.told == [("a", True), ("b", False), ("c", False)]
    assert ledger.together == [["a", "b", "c"]]


def test_a_run_that_cannot_be_judged_costs_the_others_nothing() -> None:
    steps = Steps(ledger := Answers())
    runs = [steps.held(task_id) for task_id in "abc"]
    judging: Any = steps.stage.judging

    class Stumbles:
        """Judges all but some."""

        def judge(self, one: Ran) -> Judged:
            if name(one) == "a":
                raise Unavailable("its result cannot be stored now")
            if name(one) == "b":
                raise KeyError("a defect")
            found: Judged = judging.judge(one)
            return found

    steps.recording.judging = Stumbles()  # type: ignore[assignment]
    away, defect, good = steps.recording.conclude_together(runs)
    assert (type(away), type(defect), type(good)) == (Unavailable, MessageRefused, Judged)
    assert ledger.together == [["c"]]
    assert steps.recording.conclude_together(runs[:2])[0] is not None
    assert ledger.together == [["c"]], "without an outcome nothing is called"


def test_a_call_that_raises_answers_each_run_and_a_defect_is_narrowed_to_its_run() -> None:
    steps = Steps(Answers(raises=ConfigurationError("no such table")))
    answers = steps.recording.conclude_together([steps.held(task_id) for task_id in "ab"])
    assert [type(answer) for answer in answers] == [ConfigurationError, ConfigurationError]
    steps = Steps(ledger := Answers(raises=KeyError("a defect")))
    assert len(steps.recording.conclude_together([steps.held(task_id) for task_id in "ab"])) == 2
    assert ledger.together == [["a", "b"], ["a"], ["b"]]


@pytest.mark.parametrize(("one", "together"), [
    (ran(job("a"), record=HELD, value=1), True),
    (ran(job("a"), record=HELD, error=ERROR), True),
    (ran(job("a"), value=1), False),
    (ran(job("a", task=PACK), record=HELD, result="[]"), False),
    (ran(job("a"), record=HELD, value=1)._replace(effects=(TableWrite("stock", "put", {"id": 1}),)), False),
    (ran(job("a"), record=HELD, result="x" * INLINE_BYTES, value=1), True),
    (ran(job("a"), record=HELD, result="x" * (INLINE_BYTES + 1), value=1), False),
    (ran(job("a"), *[draft()] * MOST_DRAFTS, record=HELD, value=1), True),
    (ran(job("a"), *[draft()] * (MOST_DRAFTS + 1), record=HELD, value=1), False),
])  # fmt: skip
def test_a_run_goes_with_others_if_it_holds_a_claim_and_makes_no_other_wait(one: Ran, together: bool) -> None:
    assert goes_together(one) is together
