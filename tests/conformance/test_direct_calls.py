"""The worker function as programs reach it: in memory, and over Lambda's own API."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError

from sedano.aws.direct_calls import LambdaDirectCalls
from sedano.errors import ConfigurationError, NotAllowed, ResultTimeout, Unavailable
from sedano.memory.direct_calls import MemoryDirectCalls
from sedano.ports.direct_calls import DirectCalls
from tests.unit.test_answers import Planted

ARN = "arn:aws:lambda:eu-central-1:123456789012:function:worker:live"
SERVED = {"x-amzn-RequestId": "5a1e4d3c-0000-4000-8000-000000000000"}
Answered = tuple[bytes, dict[str, str]]


def over(answer: Answered, status: int = 200, worker: str = ARN) -> LambdaDirectCalls:
    """The adapter over a Lambda that answers so."""
    client = Planted(answer, status=status).client("lambda")
    return LambdaDirectCalls(lambda seconds: client, worker)


def in_memory() -> MemoryDirectCalls:
    """The twin, whose worker answers with what it got."""
    made = MemoryDirectCalls()
    made.answer = lambda call, seconds: {"got": call, "seconds": seconds}
    return made


@pytest.mark.parametrize("make", [in_memory, lambda: over((b'{"got":{"a":"\\u00e9"},"seconds":5.0}', SERVED))], ids=["memory", "lambda"])
def test_a_worker_answers_once_with_json(make: Callable[[], DirectCalls]) -> None:
    assert json.loads(make().call('{"a": "é"}', 5.0)) == {"got": {"a": "é"}, "seconds": 5.0}


@pytest.mark.parametrize("calls", [MemoryDirectCalls(), over((b"", {}), worker="")], ids=["memory", "lambda"])
def test_without_a_worker_it_says_what_to_do(calls: DirectCalls) -> None:
    with pytest.raises(ConfigurationError, match=r"worker"):
        calls.call("{}", 1.0)


def test_a_worker_that_ends_without_an_answer_is_no_answer() -> None:
    said = b'{"errorMessage":"RequestId: 5 Error: Runtime exited with error: signal: killed","errorType":"Runtime.ExitError"}'
    with pytest.raises(Unavailable, match=r"^the worker ended without an answer: .*signal: killed") as lost:
        over((said + b"x" * 1_000, {**SERVED, "X-Amz-Function-Error": "Unhandled"})).call("{}", 1.0)
    assert len(str(lost.value)) == len("the worker ended without an answer: ") + 300


def test_a_missing_right_and_a_missing_function_name_what_to_do() -> None:
    said = f"User: x is not authorized to perform: lambda:InvokeFunction on resource: {ARN} because no identity-based policy allows it"
    refused = (json.dumps({"Message": said}).encode(), {"x-amzn-ErrorType": "AccessDeniedException", "Content-Type": "application/json"})
    with pytest.raises(NotAllowed) as denied:
        over(refused, 403).call("{}", 1.0)
    assert denied.value.action == "lambda:InvokeFunction"
    gone = (b'{"Message":"Function not found"}', {"x-amzn-ErrorType": "ResourceNotFoundException", "Content-Type": "application/json"})
    with pytest.raises(ConfigurationError, match=f"^SEDANO_WORKER: {ARN} cannot be called: "):
        over(gone, 404).call("{}", 1.0)


def test_a_throttled_call_may_be_made_again() -> None:
    busy = (b'{"Message":"Rate exceeded"}', {"x-amzn-ErrorType": "TooManyRequestsException", "Content-Type": "application/json"})
    with pytest.raises(Unavailable, match="TooManyRequestsException"):
        over(busy, 429).call("{}", 1.0)


class Silent:
    """A client that gets no answer."""

    def __init__(self, error: Exception) -> None:
        """Raise *error* at each call."""
        self.error = error

    def invoke(self, **_: Any) -> Any:
        """Wait in vain."""
        raise self.error


def test_a_worker_that_does_not_answer_in_time_may_still_work() -> None:
    asked: list[float] = []

    def client(seconds: float) -> Any:
        asked.append(seconds)
        return Silent(ReadTimeoutError(endpoint_url="lambda"))

    calls = LambdaDirectCalls(client, ARN)
    for seconds in (1.2, 1.9, 3.0):
        with pytest.raises(ResultTimeout, match=f"^the worker did not answer within {seconds:g} s$"):
            calls.call("{}", seconds)
    assert asked == [2, 3], "one client for each number of whole seconds"


def test_a_service_that_cannot_be_reached_has_run_nothing() -> None:
    calls = LambdaDirectCalls(lambda _: Silent(ConnectTimeoutError(endpoint_url="lambda")), ARN)
    with pytest.raises(Unavailable):
        calls.call("{}", 1.0)
