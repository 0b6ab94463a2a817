"""The spans of an execution, value by value."""

import pytest

from sedano.model import states
from sedano.model.ledger.records import ErrorRecord
from sedano.model.messages.lineage import Lineage
from sedano.model.messages.message import Command, Gather, JoinMember
from sedano.model.messages.trace import Span, span
from sedano.model.telemetry.execution_spans import (
    MOST_LINKS,
    ExportedSpan,
    TracedRun,
    TraceLink,
    execution_spans,
    member_wait_id,
    publication_id,
)

TRACE, OWN, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "00f067aa0ba902b7"
COMMAND = Command(id="m1", task_id="t1", task="shop.add", time=10.0, attempt=0, lineage=Lineage(root_id="r1"))
SPAN = Span(TRACE, OWN, CALLER, "01")


def run(command: Command = COMMAND, span: Span = SPAN, **changes: object) -> TracedRun:
    """An execution that is received at 11 s, starts at 12 s and ends at 13 s."""
    made = TracedRun(
        command=command, span=span, queue="commands/default", worker="host.1.aa", received=11.0, started=12.0, ended=13.0,
        state=states.SUCCESS,
    )  # fmt: skip
    return made._replace(**changes)


def test_a_run_has_three_spans_below_the_span_of_its_publisher() -> None:
    about = {
        "messaging.system": "sedano", "messaging.destination.name": "commands/default", "messaging.message.id": "m1",
        "sedano.task": "shop.add", "sedano.task_id": "t1", "sedano.root_id": "r1", "sedano.attempt": 0,
    }  # fmt: skip
    published = publication_id("t1", 0)
    first, second, third = execution_spans(run())
    assert first == ExportedSpan(
        trace_id=TRACE, span_id=published, parent_id=CALLER, name="publish shop.add", kind=4, begin=10.0, end=10.0,
        attributes=about,
    )  # fmt: skip
    assert second == ExportedSpan(
        trace_id=TRACE, span_id=second.span_id, parent_id=published, name="wait in commands/default", kind=1, begin=10.0, end=11.0,
        attributes=about,
    )  # fmt: skip
    assert third == ExportedSpan(
        trace_id=TRACE, span_id=OWN, parent_id=published, name="shop.add", kind=5, begin=12.0, end=13.0,
        attributes={**about, "sedano.state": "SUCCESS", "sedano.worker": "host.1.aa"}, links=[],
    )  # fmt: skip
    assert len({first.span_id, second.span_id, third.span_id}) == 3
    assert all(len(one.span_id) == 16 and int(one.span_id, 16) for one in (first, second, third))


def test_the_ids_of_a_publication_follow_from_the_task_and_the_attempt() -> None:
    again = execution_spans(run(received=99.0, worker="another"))
    assert [one.span_id for one in again[:2]] == [one.span_id for one in execution_spans(run())[:2]]
    retried = execution_spans(run(COMMAND._replace(attempt=1)))
    assert {one.span_id for one in retried[:2]}.isdisjoint(one.span_id for one in again[:2])


def test_a_trace_that_is_not_sampled_has_no_spans() -> None:
    assert execution_spans(run(span=SPAN._replace(flags="00"))) == []
    assert execution_spans(run(span=SPAN._replace(flags="02"))) == []
    assert [len(execution_spans(run(span=SPAN._replace(flags=flags)))) for flags in ("03", "11", "ff", "10")] == [3, 3, 3, 0]


def test_without_a_trace_parent_the_parent_is_the_publication_of_the_parent_task() -> None:
    lineage = Lineage(root_id="r1", parent_id="p1")
    child = COMMAND._replace(lineage=lineage)
    found = execution_spans(run(child, span(None, "r1", "t1/0/1")))
    assert found[0].parent_id == publication_id("p1", 0)
    assert execution_spans(run(child))[0].parent_id == CALLER
    assert execution_spans(run(span=span(None, "r1", "t1/0/1")))[0].parent_id == ""


@pytest.mark.parametrize(
    ("state", "error"),
    [(states.FAILURE, "ValueError: no"), (states.RETRY, "ValueError: no"), (states.POISON, "ValueError: no"), (states.REVOKED, "")],
)
def test_an_attempt_that_failed_has_its_error(state: states.TaskState, error: str) -> None:
    found = execution_spans(run(state=state, error=ErrorRecord("ValueError", "no")))
    assert [one.error for one in found] == ["", "", error]
    assert (found[2].attributes["error.type"], found[2].attributes["sedano.state"]) == ("ValueError", state)
    assert execution_spans(run(state=states.RETRY))[2].error == ""
    long = execution_spans(run(state=states.FAILURE, error=ErrorRecord("E", "x" * 300)))[2]
    assert long.error == "E: " + "x" * 200


def test_the_body_of_a_join_links_to_the_wait_of_each_member() -> None:
    member = COMMAND._replace(task_id="t2", member=JoinMember("j1", 1, 2))
    body = execution_spans(run(COMMAND._replace(gather=Gather("j1", 2))))
    assert body[2].links == [TraceLink(TRACE, member_wait_id("j1", 0)), TraceLink(TRACE, member_wait_id("j1", 1))]
    assert len(member_wait_id("j1", 1)) == 16
    assert execution_spans(run(member))[1].span_id == member_wait_id("j1", 1)
    assert execution_spans(run(member._replace(attempt=1)))[1].span_id == member_wait_id("j1", 1, 1) != member_wait_id("j1", 1)
    assert len(execution_spans(run(COMMAND._replace(gather=Gather("j1", 1_000))))[2].links) == MOST_LINKS == 128


def test_clocks_that_disagree_make_no_span_that_ends_before_it_begins() -> None:
    _, waited, ran = execution_spans(run(received=9.0, ended=11.5))
    assert (waited.begin, waited.end) == (10.0, 10.0)
    assert (ran.begin, ran.end) == (12.0, 12.0)


def test_the_tenant_and_the_trace_state_are_in_every_span() -> None:
    found = execution_spans(run(COMMAND._replace(tenant="acme", tracestate="a=1")))
    assert [(one.attributes["sedano.tenant"], one.tracestate) for one in found] == [("acme", "a=1")] * 3
