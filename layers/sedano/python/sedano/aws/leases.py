"""Leases in a DynamoDB table: `sedano.ports.Leases` by the writes of `sedano.aws.expressions.leases`.

The store's clock is learned from the `Date` header of every answer that this adapter gets, the refusals too, so the time costs no extra
call. The items are in the control table, which is in a different trust zone from the ledger (DESIGN §7).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sedano.aws.client import keys
from sedano.aws.client.store_time import DatedClient
from sedano.aws.client.table import Item, Table
from sedano.aws.expressions import Write
from sedano.aws.expressions.leases import CALL, HELD, PROOF, RELEASE, RENEW, TAKE, TAKE_ABSENT, WAIT, WANT
from sedano.model.leases import Leased, LeaseRecord, Term, is_mine
from sedano.model.store_clock import Interval
from sedano.ports import Clock

LEASE_LIFETIME_S = 8 * 86_400
"""How long a released lease is remembered: its token must outlive every request that was sent under it."""


class DynamoLeases:
    """The leases of one deployment.

    Args:
        client: a botocore DynamoDB client.
        table: the control table's name; its partition key is `pk` (a string), its TTL attribute `ttl`.
        clock: this machine's two clocks.
    """

    def __init__(self, client: Any, table: str, clock: Clock) -> None:
        """Use *table*; no call is made yet."""
        self._name = table
        self._client = DatedClient(client, clock)
        self._table = Table(self._client, table)

    def time(self) -> Interval | None:
        """Return what DynamoDB's clock shows now; None before its first answer."""
        return self._client.time()

    def read(self, names: Sequence[str]) -> dict[str, LeaseRecord]:
        """Return the leases that exist, strongly consistent, by name."""
        found = self._table.read([keys.lease(name) for name in names])
        return {record.name: record for record in map(_record, found.values())}

    def take(self, grant: LeaseRecord, seen: LeaseRecord | None) -> Leased:
        """Write *grant* where the lease is still exactly what was *seen*."""
        values: dict[str, Any] = {
            ":name": {"S": grant.name}, ":tok": {"N": str(grant.token)}, ":nc": {"S": grant.nonce}, ":own": {"S": grant.owner},
            ":rv": {"N": str(grant.version)}, ":dur": {"N": str(grant.duration)}, ":exp": {"N": str(grant.expires)},
        }  # fmt: skip
        if seen is not None:
            values |= {":seen": {"N": str(seen.token)}, ":version": {"N": str(seen.version)}}
        done, record = self._write(TAKE_ABSENT if seen is None else TAKE, grant.name, values)
        return Leased(done or (record is not None and record.held and is_mine(record, grant.nonce, grant.token)), record)

    def renew(self, term: Term, expires: int) -> Leased:
        """Extend the lease of *term* to *expires* where it still holds; never shorten it."""
        done, record = self._write(RENEW, term.name, {**_mine(term), ":exp": {"N": str(expires)}})
        return Leased(done or (record is not None and record.held and is_mine(record, term.nonce, term.token)), record)

    def release(self, term: Term, reserved: int) -> Leased:
        """Give the lease back where *term* still holds it."""
        until = {":exp": {"N": str(reserved)}, ":ttl": {"N": str(reserved // 1000 + LEASE_LIFETIME_S)}}
        done, record = self._write(RELEASE, term.name, {**_mine(term), **until})
        return Leased(done or (record is not None and not record.held and is_mine(record, term.nonce, term.token)), record)

    def want(self, seen: LeaseRecord, who: str) -> bool:
        """Ask the holder of *seen* for the lease, in the place of the asker that was seen."""
        done, _ = self._write(WANT, seen.name, {":tok": {"N": str(seen.token)}, ":who": {"S": who}, ":asker": {"S": seen.want or who}})
        return done

    def wait(self, seen: LeaseRecord, message: str) -> bool:
        """Leave *message* to be woken when the lease is released."""
        values = {":tok": {"N": str(seen.token)}, ":message": {"L": [{"S": message}]}}
        done, _ = self._write(WAIT, seen.name, values)
        return done

    def call(self, released: LeaseRecord, who: str) -> bool:
        """Remove the first waiting message, if it is still the first, and keep the lease for *who*."""
        done, _ = self._write(CALL, released.name, {":first": {"S": released.waiting[0]}, ":who": {"S": who}})
        return done

    def proof(self, term: Term) -> Mapping[str, Any]:
        """Return the condition "this term still holds" as an item of TransactWriteItems."""
        values = {**_mine(term), ":held": {"S": HELD}}
        return {"ConditionCheck": {
            "TableName": self._name, "Key": {"pk": {"S": keys.lease(term.name)}}, "ExpressionAttributeValues": values, **PROOF.parameters,
        }}  # fmt: skip

    def _write(self, write: Write, name: str, values: Mapping[str, Any]) -> tuple[bool, LeaseRecord | None]:
        done, item = self._table.update(write, keys.lease(name), values, returns="ALL_NEW")
        return done, _record(item) if item else None


def _mine(term: Term) -> dict[str, Mapping[str, Any]]:
    return {":nc": {"S": term.nonce}, ":tok": {"N": str(term.token)}}


def _record(item: Item) -> LeaseRecord:
    number = {name: int(item[name]["N"]) for name in ("tok", "rv", "dur", "exp")}
    waiting = tuple(message["S"] for message in item["queued"]["L"]) if "queued" in item else ()
    return LeaseRecord(
        name=item["lease"]["S"], token=number["tok"], nonce=item["nc"]["S"], owner=item["own"]["S"], version=number["rv"],
        held=item["st"]["S"] == HELD, duration=number["dur"], expires=number["exp"], want=item["want"]["S"] if "want" in item else "",
        waiting=waiting,
    )  # fmt: skip
