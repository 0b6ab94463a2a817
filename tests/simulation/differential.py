"""Comparing the simulated DynamoDB with another one: the same generated writes, the same answers, item for item."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
from moto import mock_aws

from sedano.local.endpoint import Endpoint
from sedano.local.stage import ENDPOINT_PYTHON
from tests.simulation import values
from tests.simulation.dynamodb import Database
from tests.simulation.generated import Generator
from tests.simulation.values import comparable

TABLE = "things"
BATCH = 25
"""Items of one transaction, and of one BatchWriteItem."""
Refusal = Callable[[Mapping[str, Any], Mapping[str, Any]], bool]
_ORDERED = re.compile(r"(\#?\w+)(\[\d\]|\.\w+) (?:<=|>=|<|>) (:\w+)")
_SIZE = re.compile(r"size\((\#?\w+)\)")


def nothing(_item: Mapping[str, Any], _asked: Mapping[str, Any]) -> bool:
    """Know of no difference."""
    return False


def size_of_nothing(item: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """Tell whether the condition asks for the size of an attribute that is not there."""
    names = asked.get("ExpressionAttributeNames", {})
    return any(names.get(name, name) not in item for name in _SIZE.findall(asked["ConditionExpression"]))


def order_of_types(item: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """Tell whether the condition orders two values of different types."""
    names = asked.get("ExpressionAttributeNames", {})
    for holder, step, value in _ORDERED.findall(asked["ConditionExpression"]):
        path = (names.get(holder, holder), int(step[1:-1]) if step[0] == "[" else step[1:])
        found = values.found(item, path)
        if found is not None and found.keys() != asked["ExpressionAttributeValues"][value].keys():
            return True
    return False


UNLIKE: Mapping[str, tuple[Refusal, str]] = {
    "moto: the size of an attribute that is not there": (
        size_of_nothing, "moto raises ValueError; DynamoDB, like ministack and the simulation, finds the comparison false",
    ),
    "moto: < between values of different types": (
        order_of_types, "moto raises TypeError; DynamoDB, like ministack and the simulation, finds the comparison false",
    ),
}  # fmt: skip
"""Every known difference, with its reason: what is not compared there."""


def unlike(other: str) -> Refusal:
    """Return what tells that a condition is one on which the service *other* is known to differ."""
    known = [refusal for name, (refusal, _) in UNLIKE.items() if name.startswith(f"{other}:")]
    return lambda item, asked: any(refusal(item, asked) for refusal in known)


class Simulated:
    """The simulated table with botocore's face."""

    def __init__(self) -> None:
        """Begin empty."""
        self.database = Database()

    def __getattr__(self, name: str) -> Any:
        """Return the operation that botocore calls *name*."""
        operation = name.title().replace("_", "")
        return lambda **asked: self.database.call(operation, None, asked)


def told(client: Any, table: str, asked: Mapping[str, Any]) -> tuple[str, Any]:
    """Return what an update came to: the code, and the item that came back, comparable."""
    try:
        answer = client.update_item(TableName=table, **asked)
        return "done", _plain(answer.get("Attributes", {}))
    except ClientError as refused:
        found: Any = refused.response
        return found["Error"]["Code"], _plain(found.get("Item") or {})


def _plain(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: comparable(value) for name, value in item.items() if name != "pk"}


def write(made: Generator, key: str, item: dict[str, Any]) -> dict[str, Any]:
    """Return one conditional write to *key*, whose item is thought to be *item*."""
    update, condition = made.update(item), made.condition()
    renamed = condition.text
    for number in reversed(range(len(condition.values))):
        renamed = renamed.replace(f":v{number}", f":c{number}")
    given = update.values | {name.replace(":v", ":c"): value for name, value in condition.values.items()}
    asked: dict[str, Any] = {
        "Key": {"pk": {"S": key}}, "UpdateExpression": update.text, "ConditionExpression": renamed, "ReturnValues": "ALL_NEW",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }  # fmt: skip
    names = update.names | condition.names
    return asked | ({"ExpressionAttributeNames": names} if names else {}) | ({"ExpressionAttributeValues": given} if given else {})


def compare_conditions(other: Any, table: str, seeds: range, keys: str, refused: Refusal = nothing) -> None:
    """Ask for conditions on fresh items, a few to a transaction that changes nothing, in both, and compare which of them held.

    *refused* tells which conditions the other one is known not to evaluate (`UNLIKE`).
    """
    for start in range(seeds.start, seeds.stop, BATCH):
        some = [checked(Generator(seed), f"{keys}c{seed}") for seed in range(start, min(start + BATCH, seeds.stop))]
        some = [(item, asked) for item, asked in some if not refused(item, asked)]
        simulated, there = Simulated(), [item for item, _ in some if len(item) > 1]
        for item in there:
            simulated.put_item(TableName=table, Item=item)
        checks = [{"ConditionCheck": {"TableName": table, **asked}} for _, asked in some]
        batched(other, table, [{"PutRequest": {"Item": item}} for item in there])
        for (item, asked), mine, theirs in zip(some, held(simulated, checks), held(other, checks), strict=True):
            assert mine == theirs, f"{item['pk']}: {mine} here, {theirs} there: {item} {asked}"
        batched(other, table, [{"DeleteRequest": {"Key": {"pk": item["pk"]}}} for item in there])


def batched(client: Any, table: str, requests: list[dict[str, Any]]) -> None:
    """Make unconditional writes in one call. (What is left there makes moto slower with every transaction.)"""
    if requests:
        client.batch_write_item(RequestItems={table: requests})


def checked(made: Generator, key: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an item (only its key: there is none) and the parameters of a condition on it."""
    item, condition = {"pk": {"S": key}, **made.item()}, made.condition()
    asked: dict[str, Any] = {"Key": {"pk": {"S": key}}, "ConditionExpression": condition.text}
    if condition.names:
        asked["ExpressionAttributeNames"] = condition.names
    return item, asked | ({"ExpressionAttributeValues": condition.values} if condition.values else {})


def held(client: Any, checks: list[dict[str, Any]]) -> list[str]:
    """Return for each of *checks* what the transaction says of it."""
    try:
        client.transact_write_items(TransactItems=checks)
    except ClientError as refused:
        found: Any = refused.response
        return [reason["Code"] for reason in found["CancellationReasons"]]
    return ["None"] * len(checks)


def compare(other: Any, table: str, seeds: range, keys: str, refused: Refusal = nothing) -> None:
    """Make single writes on fresh items, in both, and compare what comes back."""
    for seed in seeds:
        made, simulated = Generator(seed), Simulated()
        item = made.item()
        asked = write(made, f"{keys}{seed}", item)
        if refused(item, asked):
            continue
        if item:
            for client in (other, simulated):
                client.put_item(TableName=table, Item={"pk": {"S": f"{keys}{seed}"}, **item})
        mine, theirs = told(simulated, table, asked), told(other, table, asked)
        assert mine == theirs, f"seed {seed}: {mine} here, {theirs} there: {item} {asked}"


def compare_sequences(other: Any, table: str, seeds: range, keys: str, refused: Refusal = nothing, length: int = 8) -> None:
    """Make sequences of writes on one item, in both, and compare each answer."""
    for seed in seeds:
        made, simulated, key = Generator(10_000_000 + seed), Simulated(), f"{keys}s{seed}"
        for _ in range(length):
            item = simulated.database.table(table).get(key, {})
            asked = write(made, key, item)
            if refused(item, asked):
                continue
            mine, theirs = told(simulated, table, asked), told(other, table, asked)
            assert mine == theirs, f"sequence {seed}: {mine} here, {theirs} there: {item} {asked}"


@contextmanager
def moto_table() -> Iterator[Any]:
    """Give a client of an empty table on moto."""
    with mock_aws():
        config = Config(parameter_validation=False, retries={"total_max_attempts": 1})
        session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="eu-central-1")
        client: Any = session.client("dynamodb", config=config)
        make_table(client)
        yield client


def make_table(client: Any) -> None:
    """Make the table that is compared."""
    client.create_table(
        TableName=TABLE, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
    )  # fmt: skip


def compared(other: Any, name: str, keys: str, first: int, expressions: int, sequences: int) -> dict[str, int]:
    """Compare generated *expressions* and *sequences* from seed *first* with *other*, the service called *name*; return how many agreed.

    Of ten expressions eight are conditions by themselves, one is a condition and one an update of the same write.

    Raises:
        AssertionError: one did not; the message holds the seed, the item and the write.
    """
    tenth, refused = expressions // 10, unlike(name)
    compare_conditions(other, TABLE, range(first, first + 8 * tenth), keys, refused)
    compare(other, TABLE, range(first, first + tenth), keys, refused)
    compare_sequences(other, TABLE, range(first, first + sequences), keys, refused)
    return {"expressions": 10 * tenth, "sequences": sequences}


def compared_with_moto(first: int, expressions: int, sequences: int) -> dict[str, int]:
    """Compare with moto."""
    with moto_table() as client:
        return compared(client, "moto", "p", first, expressions, sequences)


def compared_with_ministack(first: int, expressions: int, sequences: int) -> dict[str, int]:
    """Compare with ministack, on an endpoint of its own."""
    with TemporaryDirectory() as directory, Endpoint(ENDPOINT_PYTHON, Path(directory)) as endpoint:
        client: Any = endpoint.session().client("dynamodb", endpoint_url=endpoint.url)
        make_table(client)
        return compared(client, "ministack", "p", first, expressions, sequences)
