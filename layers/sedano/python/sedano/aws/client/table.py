"""One DynamoDB table through a botocore client: a named write, a consistent read. The caller interprets a refusal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

from sedano.aws.client.faults import AWS_ERRORS, code_of, fault
from sedano.aws.expressions import Write
from sedano.errors import Unavailable

Item = Mapping[str, Mapping[str, Any]]
MAX_KEYS = 100
"""The most keys of one BatchGetItem."""
PATIENCE_S = (0.05, 0.1, 0.2, 0.4)
"""The pauses, in seconds, after calls that returned no requested item; after the last one the table counts as unavailable."""
_REFUSED = "ConditionalCheckFailedException"


def tries(pauses: Iterable[float], sleep: Callable[[float], None] = time.sleep) -> Iterator[None]:
    """Yield once for each try of a call: at once, then after each of *pauses*, in seconds, by *sleep*."""
    yield
    for pause in pauses:
        sleep(pause)
        yield


class Table:
    """A table whose partition key is `pk`."""

    __slots__ = ("_client", "_name")

    def __init__(self, client: Any, name: str) -> None:
        """Use the table *name* through *client*."""
        self._client = client
        self._name = name

    def update(self, write: Write, key: str, values: Mapping[str, Any], returns: str = "NONE") -> tuple[bool, Item | None]:
        """Make *write* at *key*; return True with the requested attributes, or False with the item that made the condition fail (None: no
        item).

        Raises:
            Unavailable: the table did not answer; the write may or may not have been made.
        """
        try:
            answer = self._client.update_item(
                TableName=self._name,
                Key={"pk": {"S": key}},
                ExpressionAttributeValues={**write.values, **values},
                ReturnValues=returns,
                **write.parameters,
            )
        except ClientError as error:
            if code_of(error) == _REFUSED:
                refused: Mapping[str, Any] = error.response  # missing in the type stubs
                return False, refused.get("Item")
            raise fault(error, "dynamodb.UpdateItem") from error
        except AWS_ERRORS as error:
            raise fault(error, "dynamodb.UpdateItem") from error
        return True, answer.get("Attributes")

    def put(self, write: Write, item: Item) -> bool:
        """Put *item* if the condition of *write* holds; return whether it did."""
        try:
            self._client.put_item(TableName=self._name, Item=item, **write.parameters)
        except AWS_ERRORS as error:
            if code_of(error) == _REFUSED:
                return False
            raise fault(error, "dynamodb.PutItem") from error
        return True

    def read_one(self, key: str) -> Item | None:
        """Return the item at *key*, strongly consistent."""
        try:
            answer = self._client.get_item(TableName=self._name, Key={"pk": {"S": key}}, ConsistentRead=True)
        except AWS_ERRORS as error:
            raise fault(error, "dynamodb.GetItem") from error
        found: Item | None = answer.get("Item")
        return found

    def read(self, keys: Sequence[str]) -> dict[str, Item]:
        """Return the items that exist by key, strongly consistent, a hundred to a call."""
        keys = list(dict.fromkeys(keys))  # a call that names a key twice is refused
        if len(keys) == 1:
            item = self.read_one(keys[0])
            return {keys[0]: item} if item is not None else {}
        return self.read_together(keys)

    def read_together(self, keys: Sequence[str]) -> dict[str, Item]:
        """Return the items that exist by key, each key once, also a single one with BatchGetItem: a role needs no right to GetItem."""
        found: dict[str, Item] = {}
        for start in range(0, len(keys), MAX_KEYS):
            self._read_some(keys[start : start + MAX_KEYS], found)
        return found

    def newest(self, index: str, asked: Mapping[str, Any], most: int) -> list[Item] | None:
        """Return at most *most* items that the query *asked* finds in *index*, in descending order of its sort key; eventually consistent.

        None: the table has no such index, or DynamoDB is still making it.
        """
        found: list[Item] = []
        more: Mapping[str, Any] = {}
        while len(found) < most:
            left = most - len(found)
            try:
                answer = self._client.query(TableName=self._name, IndexName=index, ScanIndexForward=False, Limit=left, **asked, **more)
            except AWS_ERRORS as error:
                if f"index: {index}" in str(error):  # DynamoDB's message ends so in both cases
                    return None
                raise fault(error, "dynamodb.Query") from error
            found += answer["Items"]
            if "LastEvaluatedKey" not in answer:
                break
            more = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}
        return found

    def _read_some(self, keys: Sequence[str], found: dict[str, Item]) -> None:
        wanted = {self._name: {"Keys": [{"pk": {"S": key}} for key in keys], "ConsistentRead": True}}
        for _ in tries(PATIENCE_S):
            wanted = self._read_while_answered(wanted, found)
            if not wanted:
                return
        raise Unavailable("dynamodb.BatchGetItem: the table is throttled and read none of the keys")

    def _read_while_answered(self, wanted: Any, found: dict[str, Item]) -> Any:
        """Read until a call returns no items; return the rest of the request."""
        while wanted:
            try:
                answer = self._client.batch_get_item(RequestItems=wanted)
            except AWS_ERRORS as error:
                raise fault(error, "dynamodb.BatchGetItem") from error
            items = answer.get("Responses", {}).get(self._name, ())
            found.update((item["pk"]["S"], item) for item in items)
            wanted = answer.get("UnprocessedKeys") or {}
            if not items:
                break
        return wanted
