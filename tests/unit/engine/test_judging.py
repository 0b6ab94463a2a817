"""The judge step and the preparation of bodies alone: what is recorded of a run, and how a body ends that is not begun."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from sedano import memory
from sedano.engine.batch import Batch, Held, Job, Ran, Stillborn
from sedano.engine.canvas.chord_results import HeaderFailed
from sedano.engine.drafts import CommandDraft, Composer
from sedano.engine.worker.body_preparation import Preparation, limits_of, needed
from sedano.engine.worker.body_results import Endings
from sedano.engine.worker.failure_log import FAILED, TRIED_AGAIN, frames, tell_failure
from sedano.engine.worker.verdicts import Judging, write
from sedano.errors import ArgumentError, MessageRefused, Unavailable
from sedano.model import refusals, states
from sedano.model.effects import TableWrite
from sedano.model.ledger.outcome import Run, Verdict
from sedano.model.ledger.records import INLINE_BYTES, Claim, ErrorRecord, TaskRecord
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.lineage import MAX_HOPS, Lineage
from sedano.model.messages.message import LAUNCH, Command, Gather, Place, TimeLimits
from sedano.model.retry import MAX_EXECUTIONS, Retry
from tests.unit.engine.gated import batch, job, world

ERROR = ErrorRecord("ValueError", "no")
ALWAYS = Retry(max_retries=19)


@dataclass
class Canvases:
    """Stands for the canvases: attempts that were over before, and arguments."""

    before: int = 0
    breaks: Exception | None = None
    failed: ErrorRecord | None = None
    checked: list[str] = field(default_factory=list)

    @property
    def gathering(self) -> Any:
        """The results of members."""
        return self

    def attempts_before(self, command: Command) -> int:
        """So many."""
        if self.breaks is not None:
            raise self.breaks
        return self.before

    def arguments(self, command: Command) -> Any:
        """Those of the message."""
        if self.breaks is not None:
            raise self.breaks
        return command.args, command.kwargs

    def failure(self, gather: Gather) -> ErrorRecord | None:
        """Return the error of a member."""
        return self.failed

    def check(self, command: Command, _: object) -> None:
        """Note it."""
        self.checked.append(command.task_id)


class Stage:
    """The steps over ports in memory."""

    def __init__(self, before: int = 0, breaks: Exception | None = None) -> None:
        """Stand in for what they call."""
        self.ports, lamport = world(0.5, "blobs", "ledger"), LamportClock(lambda: 1)
        self.canvases = Canvases(before, breaks)
        stand_in: Any = self.canvases
        self.judging = Judging(self.ports, lamport, Composer("me", lamport, self.ports), stand_in)
        self.preparation = Preparation(self.ports, stand_in, Endings(self.ports, lamport), 1.0)
        self.batch: Batch = batch(self.ports)


def ran(one: Job, *drafts: CommandDraft, record: TaskRecord | None = None, result: str | None = None, **run: Any) -> Ran:
    """A run of *one*."""
    return Ran(Held(one, record), Run(**run), result, drafts, 1.0, 1, 2.0)


def draft() -> CommandDraft:
    """A publication."""
    return CommandDraft("default", Command("", "child", "only"))


def placed(one: Job, **changes: Any) -> Job:
    """The job with another message."""
    return one._replace(command=one.command._replace(**changes))


RECORD = TaskRecord("a", states.RUNNING, fence=1, nonce="n")


def test_what_a_body_published_is_sent_unless_its_task_is_tried_again() -> None:
    stage, one = Stage(), job("a", retry=ALWAYS)
    for run, sent in (({"value": 1}, 1), ({"error": ERROR}, 0), ({"replaced": True}, 1), ({"error": ERROR, "poisonous": True}, 1)):
        assert len(stage.judging.judge(ran(one, draft(), record=RECORD, **run)).posted) == sent


def test_only_a_body_that_published_something_needs_room_for_descendants() -> None:
    stage, deep = Stage(), placed(job("a"), lineage=Lineage("r", "p", MAX_HOPS, 5))
    assert stage.judging.judge(ran(deep, record=RECORD)).verdict.state == states.SUCCESS
    judged = stage.judging.judge(ran(deep, draft(), record=RECORD))
    assert (judged.verdict.state, judged.posted) == (states.FAILURE, ())
    assert judged.ran.run.error is not None
    assert judged.ran.run.error.type_name == "HopLimit"


@pytest.mark.parametrize(("attempt", "again"), [(MAX_EXECUTIONS - 2, True), (MAX_EXECUTIONS - 1, False)])
def test_attempts_of_what_a_task_replaced_are_no_retries_of_it_but_executions(attempt: int, again: bool) -> None:
    stage, one = Stage(before=MAX_EXECUTIONS - 2), placed(job("a", retry=Retry(max_retries=1)), attempt=attempt)
    assert (stage.judging.judge(ran(one, error=ERROR, record=RECORD)).verdict.state == states.RETRY) == again


@pytest.mark.parametrize("place", [None, Place("c", "0", "p")])
def test_a_result_that_a_canvas_hands_on_is_kept_even_where_the_task_ignores_it(place: Place | None) -> None:
    one = placed(job("a", ignore_result=True), place=place)
    outcome = Stage().judging.judge(ran(one, record=RECORD, result="7")).outcome
    assert outcome is not None
    assert outcome.result == ("7" if place else None)


@pytest.mark.parametrize("length", [INLINE_BYTES, INLINE_BYTES + 1])
def test_a_long_result_lies_in_the_blob_store(length: int) -> None:
    stage, text = Stage(), '"' + "x" * (length - 2) + '"'
    outcome = stage.judging.judge(ran(job("a"), record=RECORD, result=text)).outcome
    assert outcome is not None
    if length > INLINE_BYTES:
        assert outcome.result is None
        assert outcome.result_ref is not None
        assert stage.ports.blobs.get(outcome.result_ref) == text.encode()
    else:
        assert (outcome.result, outcome.result_ref) == (text, None)


@pytest.mark.parametrize("state", [states.SUCCESS, states.FAILURE])
def test_effects_are_made_with_a_success_alone(state: Any) -> None:
    stage = Stage()
    (answer,) = stage.ports.ledger.claim([Claim("a", 0, "a", "n", stage.ports.clock.now() + 9, 1, "only")])
    one = ran(job("a"), record=answer.record)._replace(effects=(TableWrite("stock", "put", {"id": "1"}, {"id": "1"}),))
    outcome = stage.judging.judge(one).outcome
    assert outcome is not None
    write(stage.ports, one, outcome._replace(state=state))
    effects: Any = stage.ports.effects
    assert effects.rows("stock") == ([{"id": "1"}] if state == states.SUCCESS else [])
    assert stage.ports.ledger.read(["a"])["a"].state == state


def prepared(stage: Stage, one: Job, stillborn: Stillborn | None = None) -> tuple[int, list[Run]]:
    """How many are ready, and the runs of the others."""
    ready, unfit = stage.preparation.prepare([Held(one, RECORD, stillborn)], stage.batch)
    return len(ready), [found.run for found in unfit]


@pytest.mark.parametrize(("hard", "runs"), [(9.0, True), (9.001, False)])
def test_a_body_that_may_take_longer_than_an_invocation_has_failed_for_good(hard: float, runs: bool) -> None:
    stage = Stage()
    one = job("a", time_limits=TimeLimits(None, hard))._replace(received=stage.ports.clock.now())
    ready, unfit = prepared(stage, one)
    assert ready == runs
    assert [(run.error and run.error.type_name, run.poisonous) for run in unfit] == ([] if runs else [("OptionError", True)])
    words = "a time limit of 9.001 s cannot be honoured, because an invocation of this worker lasts 10 s; lower the limit"
    assert all(run.error is not None and run.error.message.startswith(words) for run in unfit)
    assert (needed(Held(one, None)), needed(Held(job("b"), None))) == (hard, 0.0)


def test_a_claim_whose_arguments_are_out_of_reach_is_released_and_its_message_waits() -> None:
    stage = Stage(breaks=Unavailable("away"))
    assert prepared(stage, job("a")) == (0, [])
    assert [held.job.command.id for held in stage.batch.unstarted] == ["a"]
    assert [*stage.batch.deferred] == ["a"]


def test_a_claim_whose_preparation_broke_is_released_and_its_message_is_set_aside() -> None:
    stage = Stage(breaks=RuntimeError("a defect"))
    assert prepared(stage, job("a")) == (0, [])
    assert [held.job.command.id for held in stage.batch.unstarted] == ["a"]
    assert [parking.code for parking in stage.batch.parkings] == [refusals.UNEXPECTED]


def test_arguments_that_do_not_fit_are_a_failure_whose_message_is_set_aside() -> None:
    stage, one = Stage(breaks=ArgumentError("what", "is missing")), job("a")
    (run,) = prepared(stage, one)[1]
    assert (run.error and run.error.type_name, run.poisonous) == ("ArgumentError", True)
    assert [(parking.code, parking.field) for parking in stage.batch.parkings] == [(refusals.ARGUMENTS, "what")]


def test_a_message_whose_stored_arguments_are_refused_is_set_aside_with_the_code_of_that_refusal() -> None:
    stage = Stage(breaks=MessageRefused(refusals.SCHEMA, "data", "is not an object"))
    (run,) = prepared(stage, job("a"))[1]
    assert (run.error and run.error.type_name, run.poisonous) == ("MessageRefused", True)
    assert [(one.code, one.field, one.detail) for one in stage.batch.parkings] == [(refusals.SCHEMA, "data", "is not an object")]


def test_only_a_task_that_continues_or_launches_a_canvas_needs_its_pages() -> None:
    stage = Stage()
    for one in (job("plain"), placed(job("placed"), place=Place("c", "0", "p")), job("launch", LAUNCH)):
        assert prepared(stage, one) == (1, [])
    assert stage.canvases.checked == ["placed", "launch"]


def test_each_poison_message_is_counted_at_once_and_no_other_end_is() -> None:
    stage = Stage()
    telemetry: Any = stage.ports.telemetry
    for state, count in ((states.EXPIRED, 0), (states.POISON, 1)):
        prepared(stage, job("a"), Stillborn(state, refusals.EXECUTIONS, "data", "why"))
        assert telemetry.counted("TasksPoisoned", task="only") == count


@pytest.mark.parametrize(
    ("why", "error", "parked"),
    [
        (Stillborn(states.FAILURE, refusals.CIRCUIT, "subject", "open", park=False), "CircuitOpen", 0),
        (Stillborn(states.FAILURE, refusals.KEY, "data", "no key"), "LimitKey", 1),
        (Stillborn(states.FAILURE, refusals.BUSY, "subject", "busy", park=False), states.ROWS[states.FAILURE].error_type, 0),
        (Stillborn(states.REVOKED, refusals.REVOKED, "taskid", "asked"), states.ROWS[states.REVOKED].error_type, 0),
    ],
)
def test_a_body_that_must_not_begin_ends_with_the_error_that_its_reason_means(why: Stillborn, error: str, parked: int) -> None:
    stage = Stage()
    (run,) = prepared(stage, job("a"), why)[1]
    assert run == Run(error=ErrorRecord(error, why.detail), poisonous=True)
    assert [one[1:] for one in stage.batch.parkings] == [(why.code, why.field, why.detail)] * parked


@pytest.mark.parametrize(
    ("state", "gather", "earlier"),
    [
        (states.EXPIRED, Gather("join", 2), True), (states.REVOKED, Gather("join", 2), True), (states.EXPIRED, None, False),
        (states.FAILURE, Gather("join", 2), False),
    ],
)  # fmt: skip
def test_a_failure_in_the_header_of_a_chord_comes_before_the_end_of_a_body_that_is_too_late(
    state: Any, gather: Gather | None, earlier: bool
) -> None:
    stage = Stage()
    stage.canvases.failed = ERROR
    (run,) = prepared(stage, placed(job("a"), gather=gather), Stillborn(state, refusals.EXPIRED, "expires", "late"))[1]
    assert run.error == (ERROR if earlier else ErrorRecord(states.ROWS[state].error_type, "late"))


@pytest.mark.parametrize(("name", "ignored"), [("ValueError", False), ("Ignore", True)])
def test_the_body_of_a_chord_whose_header_failed_ends_with_that_error_and_is_not_tried_again(name: str, ignored: bool) -> None:
    error = ErrorRecord(name, "no")
    stage = Stage(breaks=HeaderFailed(error))
    assert prepared(stage, job("a")) == (0, [Run(error=error, poisonous=True, ignored=ignored)])
    assert stage.batch.parkings == []


def test_the_limits_of_a_call_come_before_those_of_its_task() -> None:
    one = placed(job("a", time_limits=TimeLimits(2.0, 9.0)), time_limits=TimeLimits(None, 3.0))
    assert limits_of(one) == TimeLimits(2.0, 3.0)


@pytest.mark.parametrize("breaks", [None, Unavailable("away")])
def test_attempts_of_a_canvas_out_of_reach_count_as_none(breaks: Exception | None) -> None:
    assert Stage(3, breaks).preparation.attempts_before(job("a").command) == (0 if breaks else 3)


def test_a_failure_is_logged_with_the_span_of_its_execution_and_the_pause_before_the_next() -> None:
    telemetry, one = memory.MemoryTelemetry(), job("a")
    for record in (RECORD, RECORD._replace(fence=2), None):
        found = ran(one, record=record, error=ERROR)
        judged = Stage().judging.judge(found)._replace(verdict=Verdict(states.RETRY, 1.23456))
        tell_failure(found, judged, telemetry)
    first, second, third = telemetry.lines
    assert (first.level, first.message, first.fields["retry_in"]) == ("warning", TRIED_AGAIN, 1.235)
    assert len({line.fields["span_id"] for line in (first, second, third)}) == 3
    tell_failure(ran(one, record=RECORD), None, telemetry)
    assert len(telemetry.lines) == 3
    failed = ran(one, record=RECORD, error=ERROR)
    tell_failure(failed, Stage().judging.judge(failed)._replace(verdict=Verdict(states.FAILURE)), telemetry)
    assert (telemetry.lines[-1].level, telemetry.lines[-1].message) == ("error", FAILED)
    assert "retry_in" not in telemetry.lines[-1].fields


def test_only_frames_of_the_application_are_named() -> None:
    places = ("/var/task/shop.py", "/var/task/lib/site-packages/boto.py", "/opt/python/x.py", "<string>")
    text = "".join(f'  File "{place}", line 7, in charge\n    pass\n' for place in places)
    assert frames(text) == ["/var/task/shop.py:7 in charge"]
