"""The answers to direct calls alone: what the worker is asked, what is left as it was, and what is read from where."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sedano.engine.worker.call_answers import CallAnswers
from sedano.errors import Unavailable
from sedano.model import refusals
from sedano.model.direct_calls import AWAY, MOST_RESULT, UNSEALED, DirectCall, audience, request_text
from sedano.model.messages import codec
from sedano.model.messages.message import Command, Event
from sedano.ports import PARKED, Outgoing
from tests.unit.engine.gated import QUEUE, asked
from tests.unit.engine.test_worker_steps import Stage, message


class Line:
    """A stage whose worker answers direct calls."""

    def __init__(self, body: Any = lambda: "done", **settings: Any) -> None:
        """Run *body*; the stage has these *settings*."""
        self.stage = Stage(body, **settings)
        self.ports = self.stage.ports
        self.answers = CallAnswers(self.stage.worker, self.stage.registry.tasks)

    def call(self, body: str, queue: str = "default", seconds: float = 10.0) -> dict[str, Any]:
        """Return the answer to the sealed call of *body*, which may take so many *seconds*."""
        now = self.ports.clock.now()
        seal = self.ports.seals.seal(body.encode(), audience(queue), int(now), int(now))
        return self.answers.answer(json.loads(request_text(DirectCall(queue, seal, body))), now + seconds)

    def answer(self, name: str = "a", task: str = "claimed", **given: Any) -> dict[str, Any]:
        """Return the answer to the call *name* of *task*."""
        return self.call(message(name, task).body, **given)


@pytest.mark.parametrize("task", ["claimed", "record_once", "at_least_once"])
def test_a_task_of_each_delivery_is_answered_with_its_end(task: str) -> None:
    line = Line()
    assert line.answer("a", task) == {"state": "SUCCESS", "attempt": 0, "message": "a", "result": '"done"', "rest": ""}
    assert asked(line.ports.queues, "hold") == []
    assert line.stage.sent_to(QUEUE) == []


@pytest.mark.parametrize(("more", "inline"), [(0, True), (1, False)])
def test_a_result_travels_up_to_its_limit_and_otherwise_its_place_does(more: int, inline: bool) -> None:
    line = Line(lambda: "x" * (MOST_RESULT - 2 + more))
    told = line.answer()
    assert (told["result"] is not None, told["rest"] == "") == (inline, inline)
    assert told["state"] == "SUCCESS"


def test_a_task_that_fails_or_is_tried_again_is_answered_with_its_error_and_state() -> None:
    def fails() -> None:
        raise ValueError("no")

    line = Line(fails)
    told = line.answer()
    assert (told["state"], told["result"], json.loads(told["rest"])["err"][:2]) == ("RETRY", None, ["ValueError", "no"])
    told = line.answer("b", "at_least_once")
    assert (told["state"], json.loads(told["rest"])["err"][:2]) == ("RETRY", ["ValueError", "no"])


def test_the_listener_of_the_worker_hears_of_a_direct_call_and_is_as_before_it() -> None:
    heard: list[str] = []
    line = Line(listener=lambda ran, judged: heard.append(ran.held.job.command.id))
    before = line.stage.worker.recording.listener
    line.answer("a")
    assert (heard, line.stage.worker.recording.listener) == (["a"], before)
    line.stage.work(message("b"))
    assert heard == ["a", "b"]


def test_an_end_that_was_not_recorded_is_no_answer_and_the_task_goes_to_its_queue() -> None:
    line = Line()
    line.stage.answers("record", Unavailable("away"))
    body = message("a").body
    told = line.call(body)
    assert told["state"] == "RUNNING", "what the ledger knows: the claim stands until it expires"
    assert [one.body for one in line.stage.sent_to(QUEUE)] == [body]
    assert line.stage.telemetry.counted("UnexpectedErrors") == 0


def test_a_call_for_which_there_is_no_time_waits_in_its_queue_with_its_tenant() -> None:
    line = Line()
    body = codec.encode(Command("a", "a", "claimed", "host", line.ports.clock.now(), 1, tenant="acme"))
    assert line.call(body, seconds=0.0) == {"state": "PENDING"}
    assert line.stage.sent_to(QUEUE) == [Outgoing(body, tenant="acme")]
    assert asked(line.ports.queues, "hold") == []


@pytest.mark.parametrize("raises", [True, False])
def test_a_call_that_waits_nowhere_is_refused(raises: bool) -> None:
    line = Line()

    def send(queue: str, messages: Any) -> Any:
        if raises:
            raise Unavailable("no queue")
        return [Unavailable("no queue")] * len(messages)

    queues: Any = line.ports.queues
    queues.send = send
    assert line.answer(seconds=0.0) == {"refused": [AWAY, "queue", "it cannot run now, and its queue did not take it: no queue"]}


def test_a_task_that_has_ended_is_answered_from_its_record_or_left_to_its_caller() -> None:
    line = Line()
    assert line.answer("a")["state"] == "SUCCESS"
    assert line.answer("a") == {"state": "SUCCESS", "attempt": 0, "message": "a", "result": '"done"', "rest": ""}

    def read(_: Any) -> Any:
        raise Unavailable("away")

    ledger: Any = line.ports.ledger
    ledger.read = read
    assert line.answer("a") == {"state": "PENDING"}


def test_a_message_that_is_parked_is_answered_with_its_reason() -> None:
    line = Line()
    told = json.loads(message("a").body)
    body = json.dumps({**told, "clock": str(int((line.ports.clock.now() + 3_600) * 1_000_000))})
    code, field, detail = line.call(body)["refused"]
    assert (code, field) == (refusals.CLOCK_AHEAD, "clock")
    ((_, (parked,)),) = [sent for sent in asked(line.ports.queues, "send") if sent[0] == PARKED]
    assert (parked.attributes["reason"], parked.attributes["detail"]) == (code, detail)


def test_a_call_that_can_never_run_is_refused_counted_and_logged() -> None:
    line = Line()
    event = codec.encode(Event("e", "shop.Sold", "host", line.ports.clock.now(), 1))
    assert line.call(event) == {"refused": [refusals.SCHEMA, "type", "a worker takes commands only"]}
    assert line.answer("a", "nothing")["refused"][:2] == [refusals.UNKNOWN_TASK, "subject"]
    assert line.call("{")["refused"][0] == refusals.MALFORMED
    unsealed = {"sedano": "call", "queue": "default", "seal": "", "body": ""}
    assert line.answers.answer(unsealed, 0.0) == {"refused": [UNSEALED, "seal", "malformed"]}
    assert line.stage.telemetry.counted("DirectCallsRefused") == 4
    (last,) = [one.fields for one in line.stage.telemetry.lines if one.message == "direct call refused"][-1:]
    assert last == {"reason": UNSEALED, "field": "seal", "detail": "malformed"}
    assert line.stage.telemetry.flushes == 4
    assert line.stage.sent_to(PARKED) == []
