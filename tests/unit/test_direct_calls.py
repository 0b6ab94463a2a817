"""Direct calls as values: what a request and an answer look like, what is refused, and what travels."""

import json
from typing import Any

import pytest

from sedano.aws.deployment import ports_of
from sedano.aws.settings import from_environment
from sedano.errors import ConfigurationError, MessageRefused
from sedano.model import refusals, states
from sedano.model.direct_calls import (
    MOST_BYTES,
    MOST_DEPTH,
    MOST_RESULT,
    SEAL_S,
    DirectAnswer,
    DirectCall,
    answer_of,
    audience,
    call_of,
    ended,
    read_answer,
    request_text,
)  # fmt: skip
from sedano.model.ledger.records import ErrorRecord, Outcome, Posted, TaskRecord
from sedano.model.messages.message import BlobRef
from tests.unit.telemetry.test_adapters import STAGE

CALL = DirectCall("mail", "v1;k=a", '{"a":"é"}')
ENDED = TaskRecord("t", states.SUCCESS, attempt=2, message_id="m", name="add", result="5")


def told(answer: DirectAnswer) -> DirectAnswer:
    """What its caller reads."""
    return read_answer(json.dumps(answer_of(answer)).encode(), "t", "add")


def test_a_request_is_read_as_it_was_written() -> None:
    assert json.loads(request_text(CALL)) == {"sedano": "call", "queue": "mail", "seal": "v1;k=a", "body": '{"a":"é"}'}
    assert call_of(json.loads(request_text(CALL))) == CALL
    assert (audience("mail"), SEAL_S) == ("direct:mail", 60)
    assert (MOST_BYTES, MOST_RESULT, MOST_DEPTH) == (6_291_456, 2_500_000, 4)


@pytest.mark.parametrize(
    ("event", "field", "detail"),
    [
        (None, "sedano", "expected an object with sedano: call"),
        ([], "sedano", "expected an object with sedano: call"),
        ({"sedano": "calls"}, "sedano", "expected an object with sedano: call"),
        ({"sedano": "call", "seal": "", "body": ""}, "queue", "expected text"),
        ({"sedano": "call", "queue": "q", "body": ""}, "seal", "expected text"),
        ({"sedano": "call", "queue": "q", "seal": ""}, "body", "expected text"),
        ({"sedano": "call", "queue": "a b", "seal": "", "body": ""}, "queue", "not the name of a queue"),
    ],
)
def test_an_event_that_is_no_call_is_refused_by_its_field(event: Any, field: str, detail: str) -> None:
    with pytest.raises(MessageRefused) as refused:
        call_of(event)
    assert (refused.value.code, refused.value.field, refused.value.detail) == (refusals.SCHEMA, field, detail)


@pytest.mark.parametrize(
    "record",
    [
        ENDED,
        ENDED._replace(result=None, result_ref=BlobRef("d", 70_000)),
        ENDED._replace(state=states.FAILURE, result=None, error=ErrorRecord("ValueError", "no", "Traceback", "cause", "note")),
        ENDED._replace(state=states.RETRY, result=None, error=ErrorRecord("ValueError", "no", "Traceback")),
        ENDED._replace(result="x" * MOST_RESULT),
    ],
)
def test_an_answer_is_read_as_it_was_written(record: TaskRecord) -> None:
    assert told(DirectAnswer(record)) == DirectAnswer(record)


def test_a_refusal_is_read_as_it_was_written() -> None:
    refused = DirectAnswer(refused=("unknown-task", "subject", "no task"))
    assert answer_of(refused) == {"refused": ["unknown-task", "subject", "no task"]}
    assert told(refused) == refused


@pytest.mark.parametrize("answer", [DirectAnswer(), DirectAnswer(ENDED._replace(result="x" * (MOST_RESULT + 1)))])
def test_what_does_not_travel_is_pending_for_its_caller_who_reads_the_record(answer: DirectAnswer) -> None:
    assert answer_of(answer) == {"state": "PENDING"}
    assert told(answer) == DirectAnswer(TaskRecord("t", states.PENDING, name="add"))


def test_the_record_of_an_answer_has_what_its_caller_needs_and_no_more() -> None:
    error, ref = ErrorRecord("E", "m", "t"), BlobRef("d", 1)
    outcome = Outcome(
        task_id="t", state=states.FAILURE, nonce="n", fence=7, message_id="m", attempt=3, clock=9, name="add", at=1.0, result="1",
        result_ref=ref, error=error, outbox=(Posted("q", "b"),), next_attempt=4,
    )  # fmt: skip
    assert ended(outcome) == TaskRecord(
        "t", states.FAILURE, attempt=3, message_id="m", name="add", result="1", result_ref=ref, error=error,
    )  # fmt: skip


@pytest.mark.parametrize(
    "data",
    [
        b"", b"null", b"[]", b"5", b"{}", b'{"state":"DONE"}', b'{"refused":["a","b"]}', b'{"refused":5}', b"<html>",
        b'{"state":"SUCCESS","rest":"{"}', b'{"state":"SUCCESS","rest":"[]"}', b'{"state":"SUCCESS","attempt":"x"}',
        b'{"state":"SUCCESS","attempt":null}', b'{"a":' * 5 + b"1" + b"}" * 5, b'{"state":"SUCCESS","result":[]}',
        b'{"state":"SUCCESS","rest":"' + b"[" * 100_000 + b'"}',
    ],
)  # fmt: skip
def test_what_is_no_answer_confirms_nothing(data: bytes) -> None:
    with pytest.raises(MessageRefused) as refused:
        read_answer(data, "t", "add")
    assert refused.value.field == "answer"


@pytest.mark.parametrize("worker", ["http://127.0.0.1:80@shop.example/", "http://shop.example/", "https://a..b/"])
def test_no_call_goes_to_a_worker_at_another_host(worker: str) -> None:
    settings = from_environment({**STAGE, "SEDANO_WORKER": worker})
    with pytest.raises(ConfigurationError, match=r"SEDANO_WORKER: .* is not the URL of a function"):
        ports_of(settings, "doctor").direct_calls.call("{}", 1.0)
