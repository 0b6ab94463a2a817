"""Direct calls: a command that its caller hands to the worker function, and the worker's answer. No queue carries either. Pure.

    request   {"sedano": "call", "queue": "default", "seal": "v1;k=…", "body": "{…}"}     the body is a command of the open protocol
    answer    {"state": "SUCCESS", "attempt": 0, "message": "…", "result": "5", "rest": ""}   how the task ended, or its state
              {"refused": ["unknown-task", "subject", "no task …"]}                       nothing of it has run, and nothing will

The seal (`sedano.model.seals.seal`) is over the bytes of the body, for an audience that names the queue. So a call cannot be moved to
another queue, and it is accepted for `SEAL_S` seconds only; within these, the claim of its task makes a repetition harmless.
"""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from sedano.errors import MessageRefused
from sedano.model import refusals, states
from sedano.model.ledger import outcome_text
from sedano.model.ledger.records import Outcome, TaskRecord, end_of
from sedano.model.messages.attributes import is_name
from sedano.model.messages.strict_json import load

CALL: Final = "call"
"""The value of `sedano` in a request; an event of another service has no such member."""
SEAL_S: Final = 60
"""The lifetime of the seal of a call."""
UNSEALED: Final = "unsealed"
"""The code of a call without a seal that holds; the detail is one of `sedano.model.seals.seal.REFUSALS`."""
AWAY: Final = "away"
"""The code of a call that could not run now, and that its queue did not take."""
MOST_DEPTH: Final = 4
MOST_BYTES: Final = 6 * 1024 * 1024
"""The most bytes that Lambda takes in a request, and gives in an answer."""
MOST_RESULT: Final = 2_500_000
"""The longest result in an answer, in characters: as JSON within JSON it is up to twice as long. The caller reads a longer one itself."""


class DirectCall(NamedTuple):
    """A request: the command queue that the task belongs to, the seal, and the command's text."""

    queue: str
    seal: str
    body: str


class DirectAnswer(NamedTuple):
    """An answer: the record of the task as far as the worker knows it, or the code, field and detail of a refusal."""

    record: TaskRecord | None = None
    refused: tuple[str, str, str] | None = None


def audience(queue: str) -> str:
    """Return the audience of the seal of a call to *queue*."""
    return f"direct:{queue}"


def request_text(call: DirectCall) -> str:
    """Return *call* as a worker function receives it."""
    return json.dumps({"sedano": CALL, **call._asdict()})


def is_call(event: Any) -> bool:
    """Return whether *event*, as Lambda passes it to a function, is a direct call."""
    return isinstance(event, dict) and event.get("sedano") == CALL


def call_of(event: Any) -> DirectCall:
    """Return the call in *event*, which was JSON.

    Raises:
        MessageRefused: it is not a call.
    """
    if not is_call(event):
        raise MessageRefused(refusals.SCHEMA, "sedano", f"expected an object with sedano: {CALL}")
    for name in DirectCall._fields:
        if not isinstance(event.get(name), str):
            raise MessageRefused(refusals.SCHEMA, name, "expected text")
    if not is_name(event["queue"]):
        raise MessageRefused(refusals.SCHEMA, "queue", "not the name of a queue")
    return DirectCall(event["queue"], event["seal"], event["body"])


def ended(outcome: Outcome) -> TaskRecord:
    """Return the record of a task that ended, or is retried, as *outcome*, as far as its caller needs it."""
    return TaskRecord(
        outcome.task_id, outcome.state, attempt=outcome.attempt, message_id=outcome.message_id, name=outcome.name, result=outcome.result,
        result_ref=outcome.result_ref, error=outcome.error,
    )  # fmt: skip


def may_follow(record: TaskRecord, message_id: str) -> bool:
    """Return whether the message *message_id* ended the task of *record*, which published something, and it is not noted that all was
    sent.
    """
    published = record.outbox or record.outbox_ref is not None
    return record.state in states.TERMINAL and record.message_id == message_id and bool(published) and not record.followed


def answer_of(answer: DirectAnswer) -> dict[str, Any]:
    """Return *answer* as JSON values; without the end of a task whose result is too long to travel: its caller reads the record."""
    record = answer.record
    if answer.refused is not None:
        return {"refused": [*answer.refused]}
    if record is None or (record.result is not None and len(record.result) > MOST_RESULT):
        return {"state": states.PENDING}
    told = end_of(record, record.message_id, record.expires)
    return {
        "state": record.state, "attempt": record.attempt, "message": record.message_id, "result": record.result,
        "rest": outcome_text.write(told),
    }  # fmt: skip


def read_answer(data: bytes, task_id: str, name: str) -> DirectAnswer:
    """Return the answer in *data* to a call of the task *name* under *task_id*.

    Raises:
        MessageRefused: it is not an answer.
    """
    answer = load(data, MOST_BYTES, MOST_DEPTH, "answer")
    try:
        if "refused" in answer:
            code, field, detail = map(str, answer["refused"])
            return DirectAnswer(refused=(code, field, detail))
        state, tail = states.TaskState(answer["state"]), outcome_text.read(answer.get("rest", ""))
        return DirectAnswer(TaskRecord(
            task_id, state, attempt=int(answer.get("attempt", 0)), message_id=str(answer.get("message", "")), name=name,
            result=_text(answer.get("result")), result_ref=tail.result_ref, error=tail.error,
        ))  # fmt: skip
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as wrong:
        raise MessageRefused(refusals.SCHEMA, "answer", f"not an answer of a worker: {wrong!r}") from wrong


def _text(result: object) -> str | None:
    if not isinstance(result, str | None):
        raise TypeError(f"the result is {type(result).__name__}")
    return result
