"""The Lambda functions that boxed tasks call: in memory, and as real functions on the local endpoint."""

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest

from sedano.aws.functions import LambdaFunctions
from sedano.errors import BoxMissing, BoxTimeout
from sedano.memory.functions import MemoryFunctions
from sedano.model.boxes import read_payload
from sedano.ports.functions import CalledFunctions
from tests.conformance.worlds import session_of
from tests.plugins.resources import Resources
from tests.unit.test_answers import Planted

CODE = """
import os, time

def handler(event, context=None):
    if event["args"] == ["raise"]:
        raise KeyError("no such photo")
    if event["args"] == ["hang"]:
        time.sleep(60)
    return {"id": event["id"], "ok": [event["args"], event["kwargs"], event["fence"]]}
"""
NAME = "sedano-conformance-resize"
ARN = "arn:aws:lambda:eu-central-1:123456789012:function:resize"


def request(*args: Any, **kwargs: Any) -> bytes:
    """One call."""
    return json.dumps({"v": 1, "id": "c1", "args": args, "kwargs": kwargs, "fence": 7}).encode()


def over(resources: Resources, **names: str) -> LambdaFunctions:
    """The adapter over the functions of the endpoint."""
    session = session_of(resources)
    return LambdaFunctions(lambda seconds: session.single("lambda", seconds), names)


@pytest.fixture(params=["memory", pytest.param("ministack", marks=pytest.mark.ministack)])
def functions(request: pytest.FixtureRequest) -> Iterator[CalledFunctions]:
    """A deployment that knows one function, `resize`, and one that was deleted, `gone`."""
    if request.param == "memory":
        known, names = MemoryFunctions(), dict[str, Any]()
        exec(CODE, names)  # noqa: S102 - the same code as the deployed function
        known.handlers["resize"] = names["handler"]
        yield known
        return
    resources: Resources = request.getfixturevalue("ministack_resources")
    client = resources.session.client("lambda", endpoint_url=resources.endpoint_url)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("box.py", CODE)
    made = client.create_function(
        FunctionName=NAME, Runtime="python3.13", Role="arn:aws:iam::000000000000:role/any", Handler="box.handler",
        Code={"ZipFile": packed.getvalue()}, Timeout=30,
    )  # fmt: skip
    yield over(resources, resize=made["FunctionArn"], gone="sedano-conformance-gone")
    client.delete_function(FunctionName=NAME)


def test_a_function_answers_with_what_it_returns(functions: CalledFunctions) -> None:
    called = functions.call("resize", request(640, width="té"), 30)
    assert not called.failed
    assert read_payload(called.payload, "c1", failed=False).value == [[640], {"width": "té"}, 7]


def test_an_error_that_a_function_raises_arrives_as_data(functions: CalledFunctions) -> None:
    called = functions.call("resize", request("raise"), 30)
    assert called.failed
    answer = read_payload(called.payload, "c1", failed=True)
    assert answer.error is not None
    assert answer.error.type_name in ("KeyError", "Runtime.HandlerError"), "the second is what the endpoint makes of every error"
    assert answer.ending == ""
    assert "no such photo" in answer.error.message


def test_a_function_that_does_not_exist_is_a_missing_box(functions: CalledFunctions) -> None:
    for name in ("unknown", "gone"):
        with pytest.raises(BoxMissing, match=name):
            functions.call(name, request(), 30)


def test_a_function_that_the_role_may_not_invoke_is_a_missing_box_that_names_the_grant() -> None:
    said = f"User: arn:aws:sts::123456789012:assumed-role/worker/i is not authorized to perform: lambda:InvokeFunction on resource: {ARN} "
    refused = json.dumps({"Message": f"{said}because no identity-based policy allows the lambda:InvokeFunction action"}).encode()
    headers = {"x-amzn-ErrorType": "AccessDeniedException", "Content-Type": "application/json"}
    client = Planted((refused, headers), status=403).client("lambda")
    with pytest.raises(BoxMissing) as missing:
        LambdaFunctions(lambda seconds: client, {"resize": ARN}).call("resize", request(), 30)
    assert str(missing.value) == (
        f"function 'resize': the worker may not call {ARN}: lambda:InvokeFunction is missing; list it in functions="
    )  # fmt: skip


@pytest.mark.parametrize("functions", [pytest.param("ministack", marks=pytest.mark.ministack)], indirect=True)
def test_a_function_that_does_not_answer_in_time_is_not_waited_for(functions: CalledFunctions) -> None:
    with pytest.raises(BoxTimeout, match=r"no answer within timeout=0\.5 s; it may still run"):
        functions.call("resize", request("hang"), 0.5)
