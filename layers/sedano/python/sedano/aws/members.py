"""Members of the cluster in the control table, which is separate from the ledger: another trust zone (DESIGN §7).

A heartbeat is one conditional write; an older one that arrives late is refused and dropped. Reading is a query of the
index `MEMBERS`, which holds only the members: it costs one read unit for some twenty members, however many rates, permits,
leases and baskets are in the table. The index is up to date within a second; a decision made from it is written under a
condition on the table itself.

A worker of a version before the index writes members without its key, so they are not read here until a newer version
takes the worker's place; an older reader, which scans, finds the members of all versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sedano.aws.client import keys
from sedano.aws.client.faults import AWS_ERRORS, fault
from sedano.aws.client.table import Table
from sedano.aws.expressions.members import BEAT, LOSE, OF_KIND
from sedano.model.cluster.members import ACTIVE, LOST, MemberRecord

MEMBERS = "members"
"""The index of the control table that holds the members: its partition key is `knd` (a string)."""
MEMBER_LIFETIME_S = 3 * 86_400
"""How long a silent member is remembered: longer than Lambda keeps an idle environment."""


class DynamoMembers:
    """The members of one deployment.

    Args:
        client: a botocore DynamoDB client.
        table: the control table's name; its partition key is `pk` (a string), its TTL attribute `ttl`.
    """

    def __init__(self, client: Any, table: str) -> None:
        """Use *table*; no call is made yet."""
        self._client = client
        self._name = table
        self._table = Table(client, table)

    def beat(self, member: MemberRecord) -> None:
        """Write the member's heartbeat; an older one (smaller clock) never replaces a newer one."""
        values = {
            ":clk": {"N": str(member.clock)},
            ":st": {"S": member.state},
            ":inflight": {"N": str(member.in_flight)},
            ":seen": {"N": str(round(member.seen * 1000))},
            ":took": {"L": [{"S": task_id} for task_id in member.tasks]},
            ":answers": {"S": member.answers},
            ":report": {"S": member.report},
            ":ttl": {"N": str(int(member.seen) + MEMBER_LIFETIME_S)},
        }
        self._table.update(BEAT, keys.member(member.name), {**values, ":name": {"S": member.name}})

    def lose(self, name: str, clock: int, lapsed: float) -> bool:
        """Mark the member as LOST if it has sent no heartbeat since *lapsed*."""
        values = {
            ":clk": {"N": str(clock)}, ":lapsed": {"N": str(round(lapsed * 1000))}, ":active": {"S": ACTIVE}, ":lost": {"S": LOST},
        }  # fmt: skip
        done, item = self._table.update(LOSE, keys.member(name), values)
        return done or (item is not None and item["st"]["S"] == LOST and item["clk"]["N"] == str(clock))

    def read(self) -> list[MemberRecord]:
        """Return all members, by name."""
        try:
            pages = self._client.get_paginator("query").paginate(TableName=self._name, IndexName=MEMBERS, **OF_KIND)
            found = [_member(item) for page in pages for item in page["Items"]]
        except AWS_ERRORS as error:
            raise fault(error, "dynamodb.Query") from error
        return sorted(found, key=lambda member: member.name)


def _member(item: Mapping[str, Mapping[str, Any]]) -> MemberRecord:
    return MemberRecord(
        name=item["nm"]["S"], clock=int(item["clk"]["N"]), state=item["st"]["S"], in_flight=int(item["inflight"]["N"]),
        seen=int(item["seen"]["N"]) / 1000, tasks=tuple(task_id["S"] for task_id in item["took"]["L"]) if "took" in item else (),
        answers=item["answ"]["S"] if "answ" in item else "", report=item["rep"]["S"] if "rep" in item else "",
    )  # fmt: skip
