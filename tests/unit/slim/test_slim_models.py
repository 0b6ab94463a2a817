"""What the slim client sends and returns is what botocore's serializer and parser make of it, for random parameters and answers.

Where a value is not plain, the slim client leaves it to botocore: the other tests of this folder show that.
"""

import json
import random
from collections.abc import Mapping
from typing import Any

import pytest
from botocore.parsers import create_parser
from botocore.serialize import create_serializer

from sedano.aws.client.slim.answers import AnswerReader
from sedano.aws.client.slim.client import OPERATIONS
from sedano.aws.client.slim.http_answers import RawAnswer
from sedano.aws.client.slim.request_shapes import checker
from tests.unit.slim.scripted import source

CALLS = [(service, name) for service, names in OPERATIONS.items() for name in names.values()]
ROUNDS = 300
ODD = (None, b"bytes", 1.5, {"unknown": 1}, ["x"], "text", 7, True)
PLAIN = {
    "integer": (-9, 0, 1, 2**40), "long": (0, 2**62), "boolean": (True, False), "blob": (b"blob", b""), "double": (0.5,), "float": (1.5,),
    "string": ("", "text", "null", 'quoted "text" \\', "é€😀", "\x00\n"),
}  # fmt: skip
"""Values by type."""
HEADERS = {"x-amzn-requestid": "a", "content-type": "application/x-amz-json-1.0"}


def model_of(service: str, name: str) -> Any:
    """botocore's model of a call."""
    return source().get_service_model(service).operation_model(name)


def drawn(shape: Any, random_: random.Random, depth: int = 0, odd: float = 0.0) -> Any:
    """Return a random value of *shape*; with probability *odd* one of another kind, at each place."""
    if random_.random() < odd:
        return random_.choice(ODD)
    match shape.type_name:
        case "structure":
            names = [name for name in shape.members if random_.random() < (0.6 if depth < 4 else 0.15)]
            found = {name: drawn(shape.members[name], random_, depth + 1, odd) for name in names}
            return found | ({"Unknown": 1} if random_.random() < odd else {})
        case "map":
            return {f"k{n}": drawn(shape.value, random_, depth + 1, odd) for n in range(random_.randrange(3) if depth < 6 else 0)}
        case "list":
            return [drawn(shape.member, random_, depth + 1, odd) for _ in range(random_.randrange(3) if depth < 6 else 0)]
    return random_.choice(PLAIN[shape.type_name])


def without(shape: Any, value: Any, names: frozenset[str] = frozenset({"blob", "double", "float"})) -> Any:
    """Return *value* without the members that are never plain."""
    if shape.type_name == "structure":
        kept = {name: member for name, member in shape.members.items() if name in value and member.type_name not in names}
        return {name: without(member, value[name]) for name, member in kept.items() if not is_list_of(member, names)}
    if shape.type_name == "map":
        return {key: without(shape.value, one) for key, one in value.items()}
    return [without(shape.member, one) for one in value] if shape.type_name == "list" else value


def is_list_of(shape: Any, names: frozenset[str]) -> bool:
    """Whether *shape* is a list of one of these types."""
    return shape.type_name == "list" and shape.member.type_name in names


@pytest.mark.parametrize(("service", "name"), CALLS)
def test_parameters_that_fit_have_the_json_that_botocore_makes_of_them(service: str, name: str) -> None:
    model, random_ = model_of(service, name), random.Random(f"{name} in")
    fits, serializer, fitted = checker(model.input_shape), create_serializer("json", include_validation=False), 0
    for number in range(ROUNDS):
        given = drawn(model.input_shape, random_, odd=0.0 if number % 2 else 0.05)
        given = without(model.input_shape, given) if number % 4 == 1 else given
        if not isinstance(given, dict) or not fits(given):
            assert number % 4 != 1, f"plain parameters must fit: {given}"
            continue
        fitted += 1
        assert json.loads(json.dumps(given)) == json.loads(serializer.serialize_to_request(given, model)["body"])
    assert fitted > ROUNDS / 5


@pytest.mark.parametrize(("service", "name"), CALLS)
def test_an_answer_is_the_one_that_botocores_parser_returns(service: str, name: str) -> None:
    model, random_ = model_of(service, name), random.Random(f"{name} out")
    reader, parser, fitted = AnswerReader(model), create_parser("json"), 0
    for number in range(ROUNDS):
        value = without(model.output_shape, drawn(model.output_shape, random_))
        if number % 3 == 0:
            value = with_odd(value, random_)
        body, response = json.dumps(value).encode(), {"status_code": 200, "headers": dict(HEADERS), "context": {}}
        expected = parser.parse({**response, "body": body}, model.output_shape)
        assert reader.read(RawAnswer(200, dict(HEADERS), body, True)) == expected
        fitted += checker(model.output_shape)(value)
    assert fitted > ROUNDS / 2


def with_odd(value: Any, random_: random.Random) -> Any:
    """Return an answer with what services add or leave out: names that no model has, and null."""
    return {**value, random_.choice(["New", "Other"]): random_.choice([None, 1, "x"])} | dict.fromkeys(list(value)[:1])


ERRORS: list[tuple[int, bytes, Mapping[str, str]]] = [
    (400, b'{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"no","Item":{"pk":{"S":"a"}}}', {}),
    (400, b'{"__type":"com.amazonaws.dynamodb#TransactionCanceledException","Message":"no","CancellationReasons":[{"Code":"None"}]}', {}),
    (400, b'{"__type":"com.amazon.coral.validate#ValidationException","message":"no"}', {}),
    (400, b'{"__type":"com.amazonaws.sqs#QueueDoesNotExist"}', {"x-amzn-query-error": "AWS.SimpleQueueService.NonExistentQueue;Sender"}),
    (400, b'{"__type":"ProvisionedThroughputExceededException:http://x/"}', {}),
    (403, b"<html>Forbidden</html>", {}),
    (404, b"", {}),
    (500, b'{"__type":"InternalServerError","message":"no"}', {}),
    (503, b"<html><body>Service Unavailable</body></html>", {}),
    (307, b"", {"location": "https://elsewhere.example/"}),
    (429, b'{"message":null}', {}),
]


@pytest.mark.parametrize(("status", "body", "more"), ERRORS)
def test_an_error_has_the_response_that_botocores_parser_returns(status: int, body: bytes, more: Mapping[str, str]) -> None:
    for service, name in (("dynamodb", "UpdateItem"), ("dynamodb", "TransactWriteItems"), ("sqs", "SendMessageBatch")):
        model, headers = model_of(service, name), {**HEADERS, **more}
        response = {"status_code": status, "headers": dict(headers), "body": body, "context": {}}
        expected = create_parser("json").parse(response, model.output_shape)
        shape = model.service_model.shape_for_error_code(expected["Error"]["Code"])
        expected |= create_parser("json").parse(response, shape) if shape is not None else {}
        assert AnswerReader(model).read(RawAnswer(status, headers, body, True)) == expected
