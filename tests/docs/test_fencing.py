"""The page about fencing runs as it stands: the accident happens without the guards, and does not with them."""

import re
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from sedano import guards
from sedano.errors import FencedOff, OptionError
from tests.docs.pages import page
from tests.plugins.resources import Resources
from tests.stories import fleet

PAGE = page("fencing.md")


@pytest.fixture
def names(resources: Resources) -> dict[str, Any]:
    """What the page takes as given: an app, a clock, a bucket, a table, a database."""
    s3, dynamodb = resources.session.client("s3"), resources.session.client("dynamodb")
    s3.create_bucket(Bucket="reports")
    dynamodb.create_table(
        TableName="accounts", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )  # fmt: skip
    leases = fleet.on_moto(resources)
    given = {"app": leases.process().app, "clock": leases.clock, "database": sqlite3.connect(":memory:")}
    return {**given, "s3": s3, "dynamodb": dynamodb, "guards": guards, "FencedOff": FencedOff}


def run(block: str, names: dict[str, Any]) -> None:
    """Run one block of the page."""
    PAGE.run(block, names)


def test_the_page_runs_from_top_to_bottom(names: dict[str, Any]) -> None:
    for block in PAGE.blocks:
        run(block, names)
    assert names["refused"] == "the pointer stays"


def test_every_accident_on_the_page_is_refused_and_not_merely_passed_over(names: dict[str, Any]) -> None:
    caught = 0
    for block in PAGE.blocks:
        shown = re.sub(r"except FencedOff(?: as \w+)?:", "except FencedOff as refused:\n    caught.append(refused)", block)
        names["caught"] = []
        run(shown, names)
        assert len(names["caught"]) == block.count("except FencedOff")
        caught += len(names["caught"])
    assert caught == 5


def test_a_users_own_condition_holds_as_well_and_is_not_called_a_fence(names: dict[str, Any]) -> None:
    dynamodb, key = names["dynamodb"], {"id": {"S": "9"}}
    guards.put_item(dynamodb, 5, TableName="accounts", Item={**key, "balance": {"N": "1"}}, ConditionExpression="attribute_not_exists(id)")
    call = {"TableName": "accounts", "Key": key, "UpdateExpression": "SET balance = :n"}
    call |= {"ConditionExpression": "balance = :old OR balance = :old"}
    with pytest.raises(dynamodb.exceptions.ConditionalCheckFailedException):
        guards.update_item(dynamodb, 6, **call, ExpressionAttributeValues={":n": {"N": "3"}, ":old": {"N": "2"}})
    guards.update_item(dynamodb, 6, **call, ExpressionAttributeValues={":n": {"N": "3"}, ":old": {"N": "1"}})
    with pytest.raises(dynamodb.exceptions.ConditionalCheckFailedException):  # equal tokens pass the fence
        guards.update_item(dynamodb, 6, **call, ExpressionAttributeValues={":n": {"N": "4"}, ":old": {"N": "2"}})
    with pytest.raises(FencedOff):
        guards.update_item(dynamodb, 5, **call, ExpressionAttributeValues={":n": {"N": "4"}, ":old": {"N": "3"}})
    assert dynamodb.get_item(TableName="accounts", Key=key)["Item"] == {**key, "balance": {"N": "3"}, "ftok": {"N": "6"}}


@pytest.mark.parametrize(
    "condition",
    [
        "(balance = :old)", "( ( balance = :old ) )", "(balance = :old) OR (balance = :old)", "NOT (balance <> :old)",
        "((balance = :old) OR (balance = :old))", "(balance IN (:old))", "(size(id) = size(id)) AND balance = :old",
    ],
)  # fmt: skip
def test_a_users_condition_may_stand_in_parentheses(names: dict[str, Any], condition: str) -> None:
    dynamodb, key = names["dynamodb"], {"id": {"S": "9"}}
    guards.put_item(dynamodb, 5, TableName="accounts", Item={**key, "balance": {"N": "1"}})
    call = {"TableName": "accounts", "Key": key, "UpdateExpression": "SET balance = :n", "ConditionExpression": condition}
    with pytest.raises(dynamodb.exceptions.ConditionalCheckFailedException):
        guards.update_item(dynamodb, 6, **call, ExpressionAttributeValues={":n": {"N": "3"}, ":old": {"N": "2"}})
    guards.update_item(dynamodb, 6, **call, ExpressionAttributeValues={":n": {"N": "3"}, ":old": {"N": "1"}})
    with pytest.raises(FencedOff):
        guards.update_item(dynamodb, 5, **call, ExpressionAttributeValues={":n": {"N": "4"}, ":old": {"N": "3"}})


@pytest.mark.parametrize(
    "update", ["REMOVE balance", "ADD hits :n", "SET hits = :n REMOVE balance", "REMOVE balance SET hits = :n", "set hits = :n"]
)
def test_any_shape_of_update_takes_the_fence(names: dict[str, Any], update: str) -> None:
    dynamodb, key = names["dynamodb"], {"id": {"S": "1"}}
    more = {"ExpressionAttributeValues": {":n": {"N": "1"}}} if ":n" in update else {}
    guards.update_item(dynamodb, 7, TableName="accounts", Key=key, UpdateExpression=update, **more)
    item = dynamodb.get_item(TableName="accounts", Key=key)["Item"]
    assert item["ftok"] == {"N": "7"}
    assert ("hits" in item) == (":n" in update)


def test_a_new_holder_shuts_the_old_one_out_before_it_writes_anything(names: dict[str, Any]) -> None:
    s3, dynamodb, key = names["s3"], names["dynamodb"], {"id": {"S": "1"}}
    assert guards.fence_in_pointer(s3, 1, Bucket="reports", Key="k") is None
    guards.point(s3, 1, "one/", Bucket="reports", Key="k")
    assert guards.fence_in_pointer(s3, 2, Bucket="reports", Key="k") == "one/"
    with pytest.raises(FencedOff):
        guards.point(s3, 1, "late/", Bucket="reports", Key="k")
    with pytest.raises(FencedOff):
        guards.fence_in_pointer(s3, 1, Bucket="reports", Key="k")
    assert guards.fence_in_pointer(s3, 2, Bucket="reports", Key="k") == guards.pointed(s3, Bucket="reports", Key="k") == "one/"
    assert guards.fence_in(dynamodb, 2, TableName="accounts", Key=key) == {**key, "ftok": {"N": "2"}}
    with pytest.raises(FencedOff):
        guards.put_item(dynamodb, 1, TableName="accounts", Item=key)


def test_a_holder_fences_an_item_in_again_and_an_earlier_one_does_not(names: dict[str, Any]) -> None:
    dynamodb, place = names["dynamodb"], {"TableName": "accounts", "Key": {"id": {"S": "1"}}}
    for token in (3, 3, 4):
        assert guards.fence_in(dynamodb, token, **place)["ftok"] == {"N": str(token)}
    with pytest.raises(FencedOff):
        guards.fence_in(dynamodb, 3, **place)
    assert dynamodb.get_item(**place)["Item"]["ftok"] == {"N": "4"}


class Sleeper:
    """A client of S3 whose user sleeps between its look and its write, while *meanwhile* happens."""

    def __init__(self, client: Any, meanwhile: Callable[[], object]) -> None:
        self.head_object, self.get_object = client.head_object, client.get_object
        self._client, self._meanwhile = client, meanwhile

    def put_object(self, **call: Any) -> Any:
        meanwhile, self._meanwhile = self._meanwhile, lambda: None
        meanwhile()
        return self._client.put_object(**call)


@pytest.mark.parametrize("before", [None, "one/"])
def test_who_slept_between_its_look_and_its_write_is_shut_out_though_the_pointer_still_shows_the_same(
    names: dict[str, Any], before: str | None
) -> None:
    s3, place = names["s3"], {"Bucket": "reports", "Key": f"slept-{before}"}
    if before is not None:
        guards.point(s3, 1, before, **place)
    late = Sleeper(s3, lambda: guards.fence_in_pointer(s3, 3, **place))
    with pytest.raises(FencedOff):
        guards.point(late, 2, "late/", **place)
    assert guards.pointed(s3, **place) == before


def test_a_pointer_that_was_never_turned_shows_nothing(names: dict[str, Any]) -> None:
    assert guards.pointed(names["s3"], Bucket="reports", Key="none") is None


def test_the_prefixes_of_terms_sort_as_the_terms_do() -> None:
    assert guards.scoped("a/", 9) < guards.scoped("a", 10) < guards.scoped("a", 1_767_225_600_000)


def test_a_statement_that_guards_nothing_is_refused() -> None:
    with pytest.raises(OptionError, match="fence"):
        guards.execute(sqlite3.connect(":memory:"), 1, "UPDATE account SET balance = 1 WHERE fence <= :fence", {})
