"""The strict AWS of the tests bites: each limit passes at n and trips at n + 1, in the process and in AWS's words."""

import functools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import EndpointConnectionError
from botocore.stub import Stubber

from sedano.testing.strict_aws.dynamodb import least_size
from sedano.testing.strict_aws.dynamodb_values import item_size
from sedano.testing.strict_aws.hook import StrictAws, TrippedError, problems
from sedano.testing.strict_aws.limits import LIMITS
from sedano.testing.strict_aws.sqs import Receipts
from tests.strict_aws.cases import ALLOWED, FORBIDDEN, KEY, LIMITED, TABLE, URL, filled, sent, update

SWALLOWS = """
import botocore.session
from contextlib import suppress
from botocore.config import Config

def test_it():
    session = botocore.session.Session()
    session.set_credentials("k", "s")
    sqs = session.create_client("sqs", "eu-central-1", endpoint_url="http://127.0.0.1:1")
    with suppress(Exception):
        sqs.send_message(QueueUrl="https://sqs.eu-central-1.amazonaws.com/1/q", MessageBody="x", DelaySeconds=901)
"""


@functools.cache
def operation(service: str, name: str) -> Any:
    """The model of an operation."""
    return botocore.session.get_session().get_service_model(service).operation_model(name)


def tripped(call: str, parameters: Mapping[str, Any]) -> set[str]:
    """The limits that a call trips."""
    service, _, name = call.partition(".")
    return {trip.limit for trip in problems(service, operation(service, name), parameters)}


@pytest.mark.parametrize(("limit", "call", "make"), LIMITED, ids=[f"{limit}-{call}" for limit, call, _ in LIMITED])
def test_a_limit_passes_at_n_and_trips_at_one_more(limit: str, call: str, make: Callable[[int], dict[str, Any]]) -> None:
    most = LIMITS[limit]
    assert limit not in tripped(call, make(most))
    assert limit in tripped(call, make(most + 1))


@pytest.mark.parametrize(
    ("limit", "call", "parameters"), FORBIDDEN, ids=[f"{number}-{limit}" for number, (limit, *_) in enumerate(FORBIDDEN)]
)
def test_what_is_forbidden_trips(limit: str, call: str, parameters: dict[str, Any]) -> None:
    assert limit in tripped(call, parameters)


@pytest.mark.parametrize(("call", "parameters"), ALLOWED)
def test_what_is_allowed_does_not_trip(call: str, parameters: dict[str, Any]) -> None:
    assert tripped(call, parameters) == set()


def test_an_update_counts_what_it_sets_and_not_what_it_compares() -> None:
    values = {":a": {"S": "x" * 1_000}, ":b": {"S": "x" * 2_000}}
    call = update("SET a = :a, b = list_append(b, :b)", ConditionExpression="c = :b", ExpressionAttributeValues=values)
    assert least_size(call) == item_size(KEY) + 1_000


def test_a_message_is_hidden_for_twelve_hours_in_all_from_its_receipt() -> None:
    receipts = Receipts()
    receipts.note({"Messages": [{"ReceiptHandle": "r"}]}, now=1_000.0)
    call = {"QueueUrl": URL, "ReceiptHandle": "r", "VisibilityTimeout": 43_100}
    assert not list(receipts.problems("ChangeMessageVisibility", call, 1_100.0))
    (trip,) = receipts.problems("ChangeMessageVisibility", call, 1_101.0)
    assert trip.limit == "sqs.visibility_total"
    assert not list(receipts.problems("ChangeMessageVisibility", {**call, "ReceiptHandle": "another"}, 9_000.0))


@pytest.fixture
def own() -> Iterator[StrictAws]:
    """A hook beside the one of the run, under the clients that a test makes while it lasts."""
    hook = StrictAws()
    hook.install()
    yield hook
    hook.remove()


def client(service: str) -> Any:
    """A client as sedano makes them, without checks of its own, of an endpoint that refuses connections."""
    session = botocore.session.Session()
    session.set_credentials("k", "s")
    config = Config(parameter_validation=False, retries={"total_max_attempts": 1})
    return session.create_client(service, "eu-central-1", endpoint_url="http://127.0.0.1:1", config=config)


def test_a_call_that_aws_would_refuse_never_leaves_and_is_remembered(strict_aws: StrictAws, own: StrictAws) -> None:
    sqs = client("sqs")
    said = r"sqs\.delay: sqs SendMessage: InvalidParameterValue: DelaySeconds"
    with strict_aws.allowing("sqs.delay"), pytest.raises(TrippedError, match=said):
        sqs.send_message(**sent(DelaySeconds=901))
    (words,) = own.taken()
    assert words.startswith("sqs.delay: sqs SendMessage")
    assert own.taken() == []


def test_a_limit_that_a_test_allows_reaches_the_service(strict_aws: StrictAws, own: StrictAws) -> None:
    sqs = client("sqs")
    with strict_aws.allowing("sqs.delay"), own.allowing("sqs.delay"), pytest.raises(EndpointConnectionError):
        sqs.send_message(**sent(DelaySeconds=901))
    assert own.taken() == []


def test_an_item_that_grew_too_large_trips_when_an_answer_shows_it(strict_aws: StrictAws, own: StrictAws) -> None:
    dynamodb, call = client("dynamodb"), {"TableName": TABLE, "Key": KEY}
    with Stubber(dynamodb) as stubber, strict_aws.allowing("dynamodb.item"):
        stubber.add_response("get_item", {"Item": filled(LIMITS["dynamodb.item"])["Item"]}, call)
        assert dynamodb.get_item(**call)
        stubber.add_response("get_item", {"Item": filled(LIMITS["dynamodb.item"] + 1)["Item"]}, call)
        with pytest.raises(TrippedError, match="size of the item that GetItem returned"):
            dynamodb.get_item(**call)
    assert len(own.taken()) == 1


def test_a_test_fails_that_swallowed_what_aws_refuses(tmp_path: Path) -> None:
    (tmp_path / "test_swallows.py").write_text(SWALLOWS)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.plugins.strict_aws",
        "-c",
        os.devnull,
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert "1 passed, 1 error" in done.stdout, done.stdout
    assert "sqs.delay: sqs SendMessage: InvalidParameterValue: DelaySeconds: 901 is not within 0 to 900" in done.stdout


def test_the_reserved_words_are_those_that_moto_took_from_the_documentation() -> None:
    theirs = files("moto.dynamodb.parsing").joinpath("reserved_keywords.txt").read_text().upper().split()
    ours = files("sedano.testing.strict_aws").joinpath("reserved_words.txt").read_text().split()
    assert ours == sorted({*theirs})


def test_every_limit_is_tried() -> None:
    texts = (Path(__file__).parent / "test_strict_aws_texts.py").read_text()
    tried = {limit for limit, *_ in LIMITED}
    assert {limit for limit in LIMITS if limit not in tried and f'("{limit}", lambda' not in texts} == set()
