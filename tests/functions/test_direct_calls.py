"""A direct call at the deployed handler: the event that Lambda passes on becomes an answer, and batches of queues go on as before."""

import base64
import json
from typing import Any

from sedano.aws.settings import command_addresses
from sedano.model import states
from sedano.model.direct_calls import DirectCall, audience, request_text
from tests.functions.conftest import Functions, Remaining
from tests.functions.corner import add, app


def request(*args: int, queue: str = "default") -> dict[str, Any]:
    """A sealed call of `add`, as its handler gets it."""
    outlet = app.outlet
    _, message = outlet.compose(add.s(*args).spec)
    body, now = message.outgoing.body, int(outlet.ports.clock.now())
    seal = outlet.ports.seals.seal(body.encode(), audience(queue), now, now)
    event: dict[str, Any] = json.loads(request_text(DirectCall(queue, seal, body)))
    return event


def test_the_worker_answers_a_direct_call_between_two_batches(functions: Functions) -> None:
    handler, url = functions.handlers["worker"], command_addresses(functions.resources.settings)["default"]
    before = add.delay(1, 1)
    assert functions.run("worker", functions.event(url)) == []
    answer = handler(request(2, 3), Remaining())
    assert (answer["state"], answer["result"], answer["rest"]) == (states.SUCCESS, "5", "")
    after = add.delay(4, 4)
    assert functions.run("worker", functions.event(url)) == []
    assert [before.get(timeout=1), after.get(timeout=1)] == [2, 8]
    assert functions.count(url) == 0


def test_an_unsealed_call_is_answered_with_a_refusal_and_runs_nothing(functions: Functions) -> None:
    event = request(2, 3) | {"seal": ""}
    assert functions.handlers["worker"](event, Remaining()) == {"refused": ["unsealed", "seal", "malformed"]}


def test_any_other_event_of_this_form_is_refused_by_what_it_lacks(functions: Functions) -> None:
    for event, field in (({"sedano": "other"}, "sedano"), ({"sedano": "call"}, "queue"), (request(1, 1) | {"queue": "\n"}, "queue")):
        code, where, _ = functions.handlers["worker"](event, Remaining())["refused"]
        assert (code, where) == ("schema", field)


def by_url(body: str, *, encoded: bool = False) -> dict[str, Any]:
    """The event of a request to the worker's URL."""
    sent = base64.b64encode(body.encode()).decode() if encoded else body
    return {"requestContext": {"http": {"method": "POST"}}, "rawPath": "/", "headers": {}, "body": sent, "isBase64Encoded": encoded}


def test_the_worker_answers_a_call_by_its_url_too(functions: Functions) -> None:
    for encoded in (False, True):
        answer = functions.handlers["worker"](by_url(json.dumps(request(2, 3)), encoded=encoded), Remaining())
        assert (answer["statusCode"], answer["headers"]) == (200, {"content-type": "application/json"})
        assert json.loads(answer["body"])["result"] == "5"


def test_a_request_to_its_url_that_is_no_call_is_refused(functions: Functions) -> None:
    for event in (by_url("{"), by_url(""), by_url("[]"), by_url('{"a":1,"a":2}'), by_url("5", encoded=True) | {"body": "%"}):
        answer = functions.handlers["worker"](event, Remaining())
        assert json.loads(answer["body"])["refused"] == ["schema", "sedano", "expected an object with sedano: call"]
