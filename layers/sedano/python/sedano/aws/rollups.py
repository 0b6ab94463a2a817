"""Roll-ups in the control table, with an index by day and minute.

A day is one partition of the index: it takes 1 000 roll-ups a second, and a recorder writes one for a hundred invocations of workers.
Reading an hour is one query, and a read unit for about 8 KB of roll-ups (eventually consistent).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sedano.aws.client import keys
from sedano.aws.client.faults import AWS_ERRORS, fault
from sedano.aws.client.table import Item, Table
from sedano.aws.expressions.rollups import PUT, SINCE
from sedano.model.history.rollups import LIFETIME_S, MINUTE_S, Rollup

ROLLUPS = "rollups"
"""The index of the control table that holds the roll-ups: its partition key is `rod` (a string), its sort key `rom` (a number)."""
COSTS: Mapping[str, int] = {"dynamodb.PutItem": 1}
"""The calls of one `put`."""
_DAY_MINUTES = 1_440


class DynamoRollups:
    """The roll-ups of one deployment.

    Args:
        client: a botocore DynamoDB client.
        table: the control table's name; its partition key is `pk` (a string), its TTL attribute `ttl`.
    """

    def __init__(self, client: Any, table: str) -> None:
        """Use *table*; no call is made yet."""
        self._client, self._name = client, table
        self._table = Table(client, table)

    def put(self, rollup: Rollup) -> None:
        """Write *rollup* unless its object has one."""
        item = {
            "pk": {"S": keys.rollup(rollup.name)}, "rod": _day(rollup.minute), "rom": {"N": str(rollup.minute)}, "obj": {"S": rollup.name},
            "sums": {"S": rollup.text}, "ttl": {"N": str(rollup.minute * MINUTE_S + LIFETIME_S)},
        }  # fmt: skip
        self._table.put(PUT, item)

    def read(self, since: int, until: int) -> list[Rollup] | None:
        """Return the roll-ups of the minutes from *since* to *until*, by minute and name; None: the table has no such index."""
        found: list[Rollup] = []
        for day in range(since // _DAY_MINUTES, until // _DAY_MINUTES + 1):
            some = self._of_day(day * _DAY_MINUTES, since, until)
            if some is None:
                return None
            found += some
        return sorted(found, key=lambda one: (one.minute, one.name))

    def _of_day(self, begin: int, since: int, until: int) -> list[Rollup] | None:
        values = {":day": _day(begin), ":since": {"N": str(since)}, ":until": {"N": str(until)}}
        asked = {"TableName": self._name, "IndexName": ROLLUPS, "ExpressionAttributeValues": values, **SINCE}
        try:
            pages = self._client.get_paginator("query").paginate(**asked)
            return [_rollup(item) for page in pages for item in page["Items"]]
        except AWS_ERRORS as error:
            if f"index: {ROLLUPS}" in str(error):  # DynamoDB's message for a missing or unfinished index
                return None
            raise fault(error, "dynamodb.Query") from error


def _day(minute: int) -> Mapping[str, str]:
    return {"S": datetime.fromtimestamp(minute * MINUTE_S, UTC).strftime("%Y-%m-%d")}


def _rollup(item: Item) -> Rollup:
    return Rollup(name=item["obj"]["S"], minute=int(item["rom"]["N"]), text=item["sums"]["S"])
