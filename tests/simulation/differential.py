"""Comparing the simulated DynamoDB with another one: the same generated writes, the same answers, item for item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
from moto import mock_aws

from tests.simulation.dynamodb import Database
from tests.simulation.generated import Generator
from tests.simulation.sizes import RELEASE
from tests.simulation.values import comparable

TABLE = "things"


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
    values = update.values | {name.replace(":v", ":c"): value for name, value in condition.values.items()}
    asked: dict[str, Any] = {
        "Key": {"pk": {"S": key}}, "UpdateExpression": update.text, "ConditionExpression": renamed, "ReturnValues": "ALL_NEW",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }  # fmt: skip
    names = update.names | condition.names
    return asked | ({"ExpressionAttributeNames": names} if names else {}) | ({"ExpressionAttributeValues": values} if values else {})


def compare(other: Any, table: str, seeds: range, keys: str) -> None:
    """Make single writes on fresh items, in both, and compare what comes back."""
    for seed in seeds:
        made, simulated = Generator(seed), Simulated()
        item = made.item()
        if item:
            for client in (other, simulated):
                client.put_item(TableName=table, Item={"pk": {"S": f"{keys}{seed}"}, **item})
        asked = write(made, f"{keys}{seed}", item)
        assert told(simulated, table, asked) == told(other, table, asked), f"seed {seed}: {item} {asked}"


def compare_sequences(other: Any, table: str, seeds: range, keys: str, length: int = 8) -> None:
    """Make sequences of writes on one item, in both, and compare each answer."""
    for seed in seeds:
        made, simulated, item = Generator(10_000_000 + seed), Simulated(), dict[str, Any]()
        for _ in range(length):
            asked = write(made, f"{keys}s{seed}", {})
            mine = told(simulated, table, asked)
            assert mine == told(other, table, asked), f"sequence {seed}: {item} {asked}"


@contextmanager
def moto_table() -> Iterator[Any]:
    """Give a client of an empty table on moto."""
    with mock_aws():
        config = Config(parameter_validation=False, retries={"total_max_attempts": 1})
        session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="eu-central-1")
        client: Any = session.client("dynamodb", config=config)
        client.create_table(
            TableName=TABLE, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        )  # fmt: skip
        yield client


def compared_with_moto(scale: float) -> dict[str, int]:
    """Compare a share of the release's expressions and sequences with moto; return how many agreed.

    Raises:
        AssertionError: one did not; the message holds the seed, the item and the write.
    """
    writes, sequences = int(RELEASE.expressions * scale) // 2, int(RELEASE.sequences * scale)
    with moto_table() as client:
        compare(client, TABLE, range(1_000_000, 1_000_000 + writes), "p")
        compare_sequences(client, TABLE, range(1_000_000, 1_000_000 + sequences), "p")
    return {"expressions": 2 * writes, "sequences": sequences}
