"""A direct call at the deployed handler: the event that Lambda passes on becomes an answer, and batches of queues go on as before."""

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
