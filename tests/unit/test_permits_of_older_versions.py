"""A stage whose version before boards keeps all permits of a limit in one item: they count, are given back, and are removed once over."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from sedano.aws.client import keys
from sedano.aws.client.table import Table
from sedano.aws.expressions.limits import FORGET_OLD
from sedano.aws.limits import DynamoLimits
from sedano.engine.limits.concurrency import PermitRequest, Permitting
from sedano.memory import SeededEntropy
from sedano.model.limits.concurrency import GUARD_MS, MOST_PERMITS, Board, Permit, outdated
from sedano.ports import Ports
from tests.unit.engine.gated import advance, batch, job, world

NAME, LIMIT = "only/", 25


@pytest.fixture
def client(moto_session: boto3.Session) -> Iterator[Any]:
    """A DynamoDB client, and an empty control table."""
    with mock_aws():
        found = moto_session.client("dynamodb")
        found.create_table(
            TableName="control", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        )  # fmt: skip
        yield found


@pytest.fixture
def ports(client: Any) -> Ports:
    """The ports of a worker over that table."""
    return replace(world(), limits=DynamoLimits(client, "control"), entropy=SeededEntropy())


def older(client: Any, ports: Ports, seconds: float = 60.0) -> tuple[DynamoLimits, list[Permit]]:
    """The limits as the version before boards knows them, one board whatever the limit, with all permits held."""
    limits, now = DynamoLimits(client, "control", board_size=MOST_PERMITS), int(ports.clock.now() * 1000)
    held = [Permit(number, now, f"nonce-{number}", f"old {number}", now + int(1000 * seconds)) for number in range(LIMIT)]
    assert all(limits.take(NAME, permit, "", now).done for permit in held)
    return limits, held


def admitted(permits: Permitting, ports: Ports, name: str = "a") -> list[int]:
    """The numbers of the permits under which a message may run."""
    return [one.permit for one in permits.admit(PermitRequest(NAME, (job(name),), LIMIT, 1), batch(ports))]


def test_permits_of_an_older_version_count_until_they_are_given_back(client: Any, ports: Ports) -> None:
    limits, held = older(client, ports)
    assert [admitted(Permitting(ports, "new"), ports, name) for name in "ab"] == [[], []]
    limits.give_back(NAME, held[3])
    limits.give_back(NAME, held[17])
    permits = Permitting(ports, "new")
    assert sorted(admitted(permits, ports, "c") + admitted(permits, ports, "d")) == [3, 17]
    assert admitted(Permitting(ports, "new"), ports, "e") == []
    assert ports.limits.boards(NAME, 3).permits[17].token > held[17].token


def test_permits_of_an_older_version_count_until_they_expire(client: Any, ports: Ports) -> None:
    older(client, ports)
    advance(ports, 60.0)
    assert admitted(Permitting(ports, "new"), ports) == []
    advance(ports, GUARD_MS / 1000)
    permits = Permitting(ports, "new")
    assert sorted(number for one in range(LIMIT) for number in admitted(permits, ports, str(one))) == list(range(LIMIT))
    assert admitted(permits, ports) == []


def test_permits_of_an_older_version_are_removed_once_they_are_over(client: Any, ports: Ports) -> None:
    limits, held = older(client, ports)
    now = int(ports.clock.now() * 1000)

    def left() -> list[int]:
        return [number for number in limits.board(NAME).permits if number >= 10]

    limits.give_back(NAME, held[0])
    assert ports.limits.take(NAME, Permit(0, now + 1, "n", "o", now + 90_000), "", now).done
    assert len(left()) == LIMIT - 10, "others are held"
    over = now + 60_000 + GUARD_MS
    for taken, rest in ((1, 5), (2, 0)):
        assert ports.limits.take(NAME, Permit(taken, over, "n", "o", over + 90_000), "", over).done
        assert len(left()) == rest
    assert set(Table(client, "control").read_one(keys.permits(NAME)) or ()) == {
        "pk", "ttl", *(f"{part}{number}" for part in "nkoe" for number in range(10)),
    }  # fmt: skip


class Throttled:
    """A client whose table answers the first write alone."""

    def __init__(self, client: Any) -> None:
        """Pass the first write on to *client*."""
        self.client, self.writes = client, 0

    def update_item(self, **asked: Any) -> Any:
        """Answer the first call."""
        self.writes += 1
        if self.writes > 1:
            raise ClientError({"Error": {"Code": "ProvisionedThroughputExceededException", "Message": "slow down"}}, "UpdateItem")
        return self.client.update_item(**asked)


def test_a_permit_is_taken_although_older_ones_could_not_be_removed(client: Any, ports: Ports) -> None:
    _, held = older(client, ports)
    over, throttled = held[0].expires + GUARD_MS, Throttled(client)
    assert DynamoLimits(throttled, "control").take(NAME, Permit(0, over, "n", "o", over + 90_000), "", over).done
    assert throttled.writes == 2


NOW = 1_800_000_000_000


def old(number: int, expires: int = 0, token: int = 1) -> Permit:
    """A permit of an older version."""
    return Permit(number, token, "n", "o", expires)


@pytest.mark.parametrize(
    ("permits", "ten"),
    [
        ([], None),
        ([old(9)], None),
        ([old(10)], 1),
        ([old(10, NOW - GUARD_MS)], 1),
        ([old(10, NOW - GUARD_MS + 1)], None),
        ([old(10), old(19, NOW)], None),
        ([old(10, NOW), old(19)], None),
        ([old(10), old(19, NOW), old(20), old(35)], 2),
        ([old(35)], 3),
        ([old(10, 0, NOW - GUARD_MS - 1)], 1),
        ([old(10, 0, NOW - GUARD_MS)], None),
    ],
)
def test_ten_permits_are_outdated_when_all_of_them_are_over_and_no_token_could_fall(permits: list[Permit], ten: int | None) -> None:
    assert outdated(Board("b", {one.number: one for one in permits}), NOW) == ten


ATTRIBUTES = {"k": {"N": str(NOW - 1)}, "e": {"N": str(NOW)}, "n": {"S": "n"}, "o": {"S": "o"}, "w": {"S": "w"}}


@pytest.mark.parametrize("number", range(10))
@pytest.mark.parametrize(
    ("change", "removed"), [({}, True), ({"k": {"N": str(NOW)}}, False), ({"e": {"N": str(NOW + 1)}}, False), (None, True)]
)
def test_ten_permits_are_removed_if_each_of_them_is_over_or_absent(client: Any, number: int, change: Any, removed: bool) -> None:
    item = {f"{part}{place}": value for place in range(10) for part, value in ATTRIBUTES.items()}
    for part in ATTRIBUTES:
        if change is None:
            del item[f"{part}{number}"]
        elif part in change:
            item[f"{part}{number}"] = change[part]
    client.put_item(TableName="control", Item={"pk": {"S": "k"}, **item})
    assert Table(client, "control").update(FORGET_OLD, "k", {":lapsed": {"N": str(NOW)}})[0] == removed
    assert set(Table(client, "control").read_one("k") or ()) == ({"pk"} if removed else {"pk", *item})
