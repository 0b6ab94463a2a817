"""The backlog of a program in a DynamoDB table of its owner, for hosts whose disk is lost with them: containers, functions, spot instances.

The table is none of the stage's and may be in any Region, preferably another one than the stage's: what the queues cannot take waits there
while the stage's Region is away. Its partition key is `pk` and its sort key `sk`, both strings.

`keep` writes up to a hundred messages in one transaction. A larger batch takes several: if one of them fails, those before it are deleted
again, and if the process dies in between, some messages of a batch that was never confirmed are sent.

Its calls do not end with the deadline of the publication, which the queues have used up, but by the timeouts of their own client.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

from sedano.aws.client.faults import AWS_ERRORS, code_of, fault, reasons_of
from sedano.aws.client.session import Session
from sedano.aws.expressions.backlog import IS_THERE, LEASE, MESSAGES, RELEASE
from sedano.errors import SedanoError, Unavailable
from sedano.model.queues import QueueBounds, batches
from sedano.ports import Addressed, Outgoing
from sedano.ports.backlog import TAKEN_S, Stored, delay_left
from sedano.telemetry.python_logging import hand_over

CONNECT_TIMEOUT_S, READ_TIMEOUT_S, TRIES = 1.0, 2.0, 2
"""The timeouts of each attempt of a call, in seconds, and the attempts."""
_TOGETHER = QueueBounds(max_bytes=3_000_000, max_batch=100)
"""The bounds of one transaction: DynamoDB allows 100 items and 4 MB."""
_DELETED = 25
"""The most items of one BatchWriteItem."""
ROUNDS = 4
"""How often items that DynamoDB did not delete are tried."""
_ROW_BYTES = 1_000
"""The most bytes of an item besides the body."""
_PREFIX, _LEASE_SK = "m#", "lease"
_is_key = re.compile(r"m#[0-9]{5,}#.+").fullmatch


class InTable(NamedTuple):
    """A message in the table; *seq* is its sort key, *item* all that is stored, *holder* the lease under which it was taken."""

    seq: str
    message: Addressed
    item: Mapping[str, Any]
    holder: str


class _Lease(NamedTuple):
    """A lease of this process: its *holder*, and the sort keys of the messages that are neither sent nor given back."""

    holder: str
    left: set[str]


def client_for(session: Session, region: str | None) -> Any:
    """Return the client of a backlog in *region* (None: that of the environment), whose calls take a bounded time."""
    options: dict[str, Any] = {} if region is None else {"region_name": region}
    timeouts = {"connect_timeout": CONNECT_TIMEOUT_S, "read_timeout": READ_TIMEOUT_S}
    return session.another("dynamodb", retries={"mode": "standard", "total_max_attempts": TRIES}, **timeouts, **options)


class DynamoBacklog:
    """A backlog (`sedano.ports.backlog.Backlog`) in DynamoDB.

    Args:
        client: a botocore DynamoDB client.
        table: the table's name.
        scope: the app and its deployment: messages of one are never sent to another.
        nonce: makes a text that no other process makes.
    """

    lasts = True

    def __init__(self, client: Any, table: str, scope: str, nonce: Callable[[], str] = lambda: uuid4().hex) -> None:
        """Use *table*; no call is made yet."""
        self._client, self._table, self._nonce = client, table, nonce
        self._pk = {"S": scope}
        self._may_have = True
        self._lease = _Lease("", set())
        self._has_said = False

    def keep(self, messages: Sequence[Addressed], now: float) -> None:
        """Store all of *messages*, or none; when this returns, they survive this host.

        Raises:
            Unavailable: DynamoDB did not answer.
            ConfigurationError: the table does not exist, has other keys, or may not be used.
            TooLarge: a message is larger than an item.
        """
        batch = f"{now:017.6f}#{self._nonce()}"
        items = [self._item(f"{_PREFIX}00000#{batch}#{place:05d}", message, now) for place, message in enumerate(messages)]
        kept: list[Mapping[str, Any]] = []
        for together in _transactions(items):
            try:
                self._call("transact_write_items", TransactItems=[{"Put": {"TableName": self._table, "Item": item}} for item in together])
            except SedanoError:
                self._delete([item["sk"]["S"] for item in kept])
                raise
            kept += together
        self._may_have = True

    def exists(self) -> bool:
        """Return whether messages may be stored: True until a `take` has found none."""
        return self._may_have

    def take(self, most: int, now: float) -> list[InTable]:
        """Take up to *most* messages, the oldest first; none while another sender has some. Items that are not messages are tried later."""
        if not self._waits():
            return []
        holder = self._nonce()
        if not self._leased(holder, now):
            return []
        items = self._messages(most)
        read = [(item["sk"]["S"], _message(item, now), item) for item in items]
        found = [InTable(sk, message, item, holder) for sk, message, item in read if message is not None]
        self._lease = _Lease(holder, {one.seq for one in found})
        self._pass_over([item for _, message, item in read if message is None])
        if not found:
            self._release(holder)
        return found

    def _waits(self) -> bool:
        """Return whether any message is stored; one that is kept while the table is asked sets `exists` again."""
        self._may_have = False
        try:
            found = bool(self._messages(1))
        except SedanoError:
            self._may_have = True
            raise
        if found:
            self._may_have = True
        return found

    def done(self, taken: Sequence[Stored]) -> None:
        """Forget messages that were sent; the lease ends with the last message that was taken under it."""
        self._delete([str(one.seq) for one in taken])
        self._settled(taken)

    def give_back(self, taken: Sequence[Stored]) -> None:
        """Leave messages that could not be sent to the next sender, after those that were tried less often."""
        for together in _transactions([one.item for one in taken if isinstance(one, InTable)], 2):
            self._put_behind(together)
        self._settled(taken)

    def _pass_over(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Leave *items*, which this version cannot read, to another version, and let messages pass them; log it once."""
        if items and not self._has_said:
            self._has_said = True
            hand_over("error", "items of the backlog are not messages of this version", {"table": self._table, "sk": items[0]["sk"]["S"]})
        for together in _transactions([item for item in items if _is_key(item["sk"]["S"])], 2):
            self._put_behind(together)

    def _put_behind(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Count a try of *items*, except those that another sender has sent or moved meanwhile."""
        while items:
            sks = [item["sk"]["S"] for item in items]
            gone = [{"Delete": {"TableName": self._table, "Key": self._key(sk), **IS_THERE.parameters}} for sk in sks]
            puts = [{"Put": {"TableName": self._table, "Item": {**item, "sk": {"S": _tried(item["sk"]["S"])}}}} for item in items]
            try:
                self._client.transact_write_items(TransactItems=[*gone, *puts])
            except AWS_ERRORS as error:
                missing = [code == "ConditionalCheckFailed" for code in reasons_of(error)[: len(items)]]
                if not any(missing):
                    raise fault(error, "dynamodb.TransactWriteItems") from error
                items = [item for item, is_missing in zip(items, missing, strict=True) if not is_missing]
            else:
                return

    def _settled(self, taken: Sequence[Stored]) -> None:
        """Release the lease of this process when *taken* are the last messages of it."""
        holder, left = self._lease
        settled = {one.seq for one in taken if isinstance(one, InTable) and one.holder == holder} & left
        left -= settled
        if settled and not left:
            self._release(holder)

    def _release(self, holder: str) -> None:
        """Delete the lease, if it is still that of *holder*."""
        me = {":me": {"S": holder}}
        self._holds("delete_item", Key=self._key(_LEASE_SK), ExpressionAttributeValues=me, **RELEASE.parameters)

    def _item(self, sk: str, message: Addressed, now: float) -> Mapping[str, Any]:
        outgoing = message.outgoing
        item = {
            **self._key(sk), "q": {"S": message.queue}, "body": {"S": outgoing.body}, "delay": {"N": str(outgoing.delay)},
            "due": {"N": repr(now + outgoing.delay)},
        }  # fmt: skip
        return item if outgoing.tenant is None else {**item, "tenant": {"S": outgoing.tenant}}

    def _key(self, sk: str) -> dict[str, Any]:
        return {"pk": self._pk, "sk": {"S": sk}}

    def _messages(self, most: int) -> list[Mapping[str, Any]]:
        values = {":pk": self._pk, ":m": {"S": _PREFIX}}
        answer = self._call("query", TableName=self._table, Limit=most, ConsistentRead=True, ExpressionAttributeValues=values, **MESSAGES)
        found: list[Mapping[str, Any]] = answer.get("Items", [])
        return found

    def _leased(self, holder: str, now: float) -> bool:
        """Return whether *holder* now has the lease."""
        moments = {":now": now, ":until": now + TAKEN_S, ":most": now + 2 * TAKEN_S}
        values = {":me": {"S": holder}, **{name: {"N": repr(moment)} for name, moment in moments.items()}}
        return self._holds("update_item", Key=self._key(_LEASE_SK), ExpressionAttributeValues=values, **LEASE.parameters)

    def _holds(self, operation: str, **parameters: Any) -> bool:
        """Change the lease; return False if its condition does not hold."""
        try:
            getattr(self._client, operation)(TableName=self._table, **parameters)
        except AWS_ERRORS as error:
            if code_of(error) == "ConditionalCheckFailedException":
                return False
            raise fault(error, f"dynamodb.{_named(operation)}") from error
        return True

    def _delete(self, keys: Sequence[str]) -> None:
        for start in range(0, len(keys), _DELETED):
            left: Any = {self._table: [{"DeleteRequest": {"Key": self._key(sk)}} for sk in keys[start : start + _DELETED]]}
            for _ in range(ROUNDS):
                left = left and self._call("batch_write_item", RequestItems=left).get("UnprocessedItems")
            if left:
                raise Unavailable(f"dynamodb.BatchWriteItem: {self._table} did not delete all items; their messages are sent again")

    def _call(self, operation: str, **parameters: Any) -> Mapping[str, Any]:
        try:
            answer: Mapping[str, Any] = getattr(self._client, operation)(**parameters)
        except AWS_ERRORS as error:
            raise fault(error, f"dynamodb.{_named(operation)}") from error
        return answer


def _named(operation: str) -> str:
    """Return the AWS name of a client's *operation*."""
    return "".join(map(str.title, operation.split("_")))


def _transactions(items: Sequence[Mapping[str, Any]], writes: int = 1) -> Iterator[Sequence[Mapping[str, Any]]]:
    """Yield *items* in groups that fit into one transaction, in which each needs so many *writes*."""
    bounds = _TOGETHER._replace(max_batch=_TOGETHER.max_batch // writes)
    for positions in batches([len(item.get("body", {}).get("S", "").encode()) + _ROW_BYTES for item in items], bounds):
        yield items[positions.start : positions.stop]


def _tried(sk: str) -> str:
    """Return the sort key of a message after one more try."""
    mark, tries, rest = sk.split("#", 2)
    return f"{mark}#{int(tries) + 1:05d}#{rest}"


def _message(item: Mapping[str, Any], now: float) -> Addressed | None:
    """Return the message of *item*; None if another program, or a later version, has written it."""
    if not _is_key(item["sk"]["S"]):
        return None
    try:
        left = delay_left(int(item["delay"]["N"]), float(item["due"]["N"]), now)
        tenant = item["tenant"]["S"] if "tenant" in item else None
        return Addressed(item["q"]["S"], Outgoing(item["body"]["S"], left, tenant))
    except (KeyError, ValueError):
        return None
