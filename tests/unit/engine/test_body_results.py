"""How a body ends, alone: what it returned or raised becomes a value, and what it published goes with it."""

from typing import Any

import pytest

from sedano.engine.batch import Held, Ran, Stillborn
from sedano.engine.drafts import CommandDraft
from sedano.engine.task_context import CURRENT, Replaced, TaskContext
from sedano.engine.worker.body_results import MESSAGE_CHARACTERS, TRACEBACK_CHARACTERS, Endings, called, failed, refused
from sedano.errors import BoxedError, EffectRefused, Ignore, Reject, TaskRevoked
from sedano.model import refusals, states
from sedano.model.effects import TableWrite
from sedano.model.ledger.outcome import Run
from sedano.model.ledger.records import ErrorRecord
from sedano.model.messages import codec
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.lineage import result_document_id
from sedano.model.messages.message import Command, Document, JoinMember
from sedano.model.retry import Mark, Retry
from tests.unit.engine.gated import asked, job, world

ONE = job("a")
HELD = Held(ONE, None)
WHY = Stillborn(states.REVOKED, refusals.REVOKED, "taskid", "why")
PORTS = world()
ENDINGS = Endings(PORTS, LamportClock(lambda: 50))


def context(*added: CommandDraft, outbox: tuple[CommandDraft, ...] = ()) -> TaskContext:
    """The context of a body that published these."""
    found = TaskContext(ONE.command, 1, 10.0, 20)
    found.added += added
    found.outbox += outbox
    return found


def draft(name: str, member: JoinMember | None = None) -> CommandDraft:
    """A publication."""
    return CommandDraft("default", Command("", name, "only", member=member))


@pytest.mark.parametrize(
    ("held", "run", "result"),
    [
        (HELD, Run(7), "7"),
        (HELD, Run(None), "null"),
        (HELD, Run(7, error=ErrorRecord("E", "no")), None),
        (HELD, Run(7, revoked=True), None),
        (HELD, Run(7, replaced=True), None),
        (Held(ONE, None, WHY), Run(7), None),
    ],
)
def test_only_a_body_that_returned_has_a_result(held: Held, run: Run, result: str | None) -> None:
    ran = ENDINGS.ended(held, run, None, 1.0)
    assert (ran.result, ran.run, ran.started, ran.drafts) == (result, run, 1.0, ())
    assert ENDINGS.ended(held, run, None).started == PORTS.clock.now()


def test_a_result_that_no_message_can_hold_is_a_failure_that_is_not_tried_again() -> None:
    ran = ENDINGS.ended(HELD, Run(object()), context())
    assert ran.result is None
    assert ran.run.error is not None
    assert ran.run.poisonous


def test_what_a_body_added_to_its_chord_goes_with_its_success_alone() -> None:
    place, plain = JoinMember("join", 3, 9), draft("sent")
    added = [draft("one", place), draft("two", place._replace(index=4)), draft("no member")]
    good = ENDINGS.ended(HELD, Run(7), context(*added, outbox=(plain,)))
    assert good.drafts == (
        plain,
        draft("one", JoinMember("join", 3, 3)),
        draft("two", JoinMember("join", 4, 3)),
    )
    assert (good.added, good.started_clock) == (3, 20)
    for run in (Run(error=ErrorRecord("E", "no")), Run(replaced=True)):
        ran = ENDINGS.ended(HELD, run, context(*added, outbox=(plain,)))
        assert (ran.drafts, ran.added) == ((plain,), 0)


@pytest.mark.parametrize(
    ("run", "succeeds"), [(Run(7), True), (Run(7, error=ErrorRecord("E", "no")), False), (Run(7, replaced=True), False)]
)
def test_only_a_success_publishes_its_result_as_a_document_and_has_effects(run: Run, succeeds: bool) -> None:
    found = context(outbox=(draft("sent"),))
    found.tables, found.recorded = {"stock": ("id",)}, True
    found.effects.put("stock", {"id": "1"})
    ran = ENDINGS.ended(Held(job("a", is_document=True), None), run, found)
    result = Document(result_document_id("a"), "a", "only", value=7, traceparent=found.traceparent)
    assert ran.drafts == ((draft("sent"), result) if succeeds else (draft("sent"),))
    assert ran.effects == ((TableWrite("stock", "put", {"id": "1"}, {"id": "1"}),) if succeeds else ())


def test_a_body_is_over_when_it_has_ended() -> None:
    found = context()
    assert not found.over
    ENDINGS.ended(HELD, Run(7), found)
    assert found.over


def test_something_that_raised_beside_a_body_is_an_attempt_that_failed() -> None:
    try:
        raise RuntimeError("a defect")
    except RuntimeError as error:
        ran = ENDINGS.surprised(HELD, error)
    assert ran.held == HELD
    assert ran.run.error is not None
    assert ran.run.error.type_name == "RuntimeError"
    assert "RuntimeError at" in ran.run.error.message
    assert not ran.run.poisonous


def test_a_body_that_was_asked_to_end_is_revoked_and_one_that_raised_has_failed() -> None:
    assert failed(TaskRevoked("asked")) == Run(revoked=True)
    run = failed(ValueError("no"))
    assert run.error is not None
    assert (run.error.type_name, run.error.message, run.poisonous, run.ignored, run.revoked) == ("ValueError", "no", False, False, False)
    ignored = failed(Ignore("not mine"))
    assert (ignored.ignored, ignored.poisonous) == (True, True)
    rejected = failed(Reject("not mine"))
    assert (rejected.ignored, rejected.poisonous) == (False, True)


def test_a_replacement_is_published_with_what_the_body_published_itself() -> None:
    found, other = context(outbox=(draft("sent"),)), draft("other")

    def replaces() -> None:
        raise Replaced(other)

    assert called(replaces, ((), {}), found, PORTS.telemetry) == Run(replaced=True)
    assert found.outbox == [draft("sent"), other]
    CURRENT.set(None)


@pytest.mark.parametrize("again", [True, False])
def test_an_error_of_a_boxed_body_keeps_its_own_type_and_the_end_of_its_traceback(again: bool) -> None:
    text, trace = "m" * (MESSAGE_CHARACTERS + 1), "first" + "t" * TRACEBACK_CHARACTERS
    error = BoxedError("TypeError", text, trace, retry=again)
    expected = ErrorRecord("TypeError", text[:MESSAGE_CHARACTERS], trace[-TRACEBACK_CHARACTERS:])
    assert failed(error) == Run(error=expected, poisonous=not again)


def test_an_exception_that_cannot_be_shown_still_names_its_type() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError("mute")

    run = failed(Mute())
    assert run.error is not None
    assert (run.error.type_name, run.error.message) == ("Mute", "(the exception cannot be shown as text)")


def test_a_run_whose_effects_were_refused_has_failed_and_adds_nothing() -> None:
    some: Any = ("effect",)
    ran = Ran(HELD, Run(7), "7", (draft("sent"), draft("added")), 1.0, 1, 2.0, added=1, effects=some)
    end = refused(ran, EffectRefused(0, "table", "key", "no"))
    assert (end.drafts, end.added, end.effects, end.result) == ((draft("sent"),), 0, (), None)
    assert end.run.error is not None
    assert end.run.error.type_name == "EffectRefused"
    assert asked(PORTS.queues, "send") == []


def test_a_run_whose_effects_were_refused_still_sends_the_documents_that_its_body_published_itself() -> None:
    result, own = (Document(name, "a", "only", value=7) for name in (result_document_id("a"), "price/1"))
    ran = Ran(HELD, Run(7), "7", (draft("sent"), own, result), 1.0, 1, 2.0)
    assert refused(ran, EffectRefused(0, "table", "key", "no")).drafts == (draft("sent"), own)


def test_a_traceback_begins_in_the_body_and_one_of_a_single_frame_is_kept() -> None:
    def body() -> None:
        raise ValueError("no")

    run = called(body, ((), {}), context(), PORTS.telemetry)
    CURRENT.set(None)
    assert run.error is not None
    assert "in body" in run.error.traceback
    assert "in called" not in run.error.traceback
    try:
        raise ValueError("here")
    except ValueError as error:
        alone = failed(error)
    assert alone.error is not None
    assert "test_a_traceback_begins" in alone.error.traceback
    never = failed(ValueError("never raised"))
    assert never.error is not None
    assert never.error.traceback == "ValueError: never raised\n"


def test_an_error_that_a_section_marked_is_judged_by_that_section() -> None:
    class Marked(ValueError):
        """An error of a section."""

    error, policy = Marked("no"), Retry(max_retries=2)
    error.__sedano_mark__ = Mark(section=3, policy=policy, poisonous=True)  # type: ignore[attr-defined]
    run = failed(error)
    assert (run.poisonous, run.section, run.policy) == (True, 3, policy)


def test_a_replacement_outside_a_body_publishes_nothing() -> None:
    assert CURRENT.get() is None
    assert failed(Replaced(draft("other"))) == Run(replaced=True)


def test_what_is_kept_of_an_error_is_as_long_as_the_documentation_says() -> None:
    def body() -> None:
        raise ValueError("m" * 9_000)

    run = called(body, ((), {}), context(), PORTS.telemetry)
    CURRENT.set(None)
    assert run.error is not None
    assert (len(run.error.message), len(run.error.traceback)) == (2_000, 4_000)


@pytest.mark.parametrize("over", [0, 1])
def test_a_result_may_be_as_long_as_any_data(over: int) -> None:
    ran = ENDINGS.ended(HELD, Run("x" * (codec.MAX_DATA_BYTES - 2 + over)), None)
    assert (ran.result is None, ran.run.error is not None and ran.run.error.type_name) == (bool(over), "TooLarge" if over else False)
