"""Guards for a user's own items in DynamoDB: a writer whose term is over is refused by the table (`FencedOff`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from botocore.exceptions import ClientError

from sedano.aws.client.error_codes import LATER
from sedano.aws.client.faults import code_of, fault, meaning_of, reasons_of
from sedano.aws.expressions.fencing import ATTRIBUTE, FENCE, fenced_put, fenced_update
from sedano.errors import FencedOff

_CANCELLED = "TransactionCanceledException"


class HasToken(Protocol):
    """A lease, or another object with a fencing token."""

    @property
    def token(self) -> int:
        """The token."""


class Proves(Protocol):
    """A lease that can prove to a transaction that it is still held."""

    @property
    def token(self) -> int:
        """The token."""

    def proof(self) -> Any:
        """The condition as an item of a transaction."""


Holder = HasToken | int
"""The writer: a lease, or a bare token (`current().fence`, which rises with each claim of one task)."""


def token_of(holder: Holder) -> int:
    """Return the token of *holder*."""
    return holder if isinstance(holder, int) else holder.token


def update_item(client: Any, holder: Holder, **call: Any) -> Mapping[str, Any]:
    """Make an UpdateItem *call* unless a later holder has written; the item stores the token as `ftok`.

    Your own condition is checked as well; if only that condition fails, its `ClientError` is raised as without a guard. The SDK may send a
    call twice: set values rather than add to them.

    Raises:
        FencedOff: a later holder has written; nothing was changed.
    """
    return _send(client.update_item, fenced_update(call, token_of(holder)), holder)


def put_item(client: Any, holder: Holder, **call: Any) -> Mapping[str, Any]:
    """Make a PutItem *call* unless a later holder has written; see `update_item`."""
    return _send(client.put_item, fenced_put(call, token_of(holder)), holder)


def fence_in(client: Any, holder: Holder, *, TableName: str, Key: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: N803 - as boto3 says
    """Exclude earlier holders from an item and return the item. A new holder does this first, so that no earlier holder changes the item
    after it was read.

    Raises:
        FencedOff: a later holder has written.
    """
    values = {":ftok": {"N": str(token_of(holder))}}
    call = {"TableName": TableName, "Key": Key, "ExpressionAttributeValues": values, "ReturnValues": "ALL_NEW", **FENCE.parameters}
    attributes: Mapping[str, Any] = _send(client.update_item, call, holder)["Attributes"]
    return attributes


def transact(client: Any, lease: Proves, items: Sequence[Mapping[str, Any]]) -> None:
    """Make up to 99 writes, all or none, on condition that *lease* is held at that moment: the strict form, at twice the price.

    Raises:
        FencedOff: the lease is not held any more; nothing was changed.
        Unavailable: another transaction conflicted with this one, or the table is throttled; nothing was changed, and trying again is safe.
    """
    try:
        client.transact_write_items(TransactItems=[lease.proof(), *items])
    except ClientError as error:
        if reasons_of(error)[:1] == ["ConditionalCheckFailed"]:
            raise FencedOff("the lease", lease.token) from error
        raise _meant(error, "dynamodb.TransactWriteItems") from error


def _send(operation: Any, call: Mapping[str, Any], holder: Holder) -> Mapping[str, Any]:
    token = token_of(holder)
    try:
        answer: Mapping[str, Any] = operation(**call)
    except ClientError as error:
        refused: Mapping[str, Any] = error.response  # missing in the type stubs; only a refused condition returns it
        item = refused.get("Item", {})
        if int(item.get(ATTRIBUTE, {"N": "0"})["N"]) > token:
            raise FencedOff(f"{call['TableName']}", token) from error
        raise
    return answer


def _meant(error: ClientError, call: str) -> Exception:
    """Return *error* itself if the user's own conditions refused the call, else the error of sedano for it."""
    return error if code_of(error) == _CANCELLED and meaning_of(error) != LATER else fault(error, call)
