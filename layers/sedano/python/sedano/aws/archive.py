"""An archive in S3: the objects below a prefix of one bucket, replaced conditionally (`If-Match`, `If-None-Match`).

S3 identifies an object by its ETag, a digest of its bytes. A compare-and-swap therefore compares contents, and a fence must be part of the
bytes (`sedano.model.history.manifests`): changed metadata leaves the ETag as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sedano.aws.client.error_codes import LATER, class_of
from sedano.aws.client.faults import AWS_ERRORS, code_of, fault, verdict
from sedano.errors import SedanoError, Unavailable
from sedano.ports.archive import Filed, Kept

TRIES = 3
MOST_DELETED = 1_000
"""How many objects one call deletes."""
_TAKEN = frozenset({"PreconditionFailed", "412"})
_CONFLICT = frozenset({"ConditionalRequestConflict", "409"})
_MISSING = frozenset({"NoSuchKey", "404", "NotFound"})


class S3Archive:
    """The objects of one bucket below one prefix.

    Args:
        client: a botocore S3 client.
        bucket: the bucket's name.
        prefix: the prefix of all names; empty, or ending in a slash.
    """

    def __init__(self, client: Any, bucket: str, prefix: str = "") -> None:
        """Use the bucket; no call is made yet."""
        self._client, self._bucket, self._prefix = client, bucket, prefix

    def place(self, name: str) -> str:
        """Return the address by which Spark opens *name*."""
        return f"s3://{self._bucket}/{self._prefix}{name}"

    def names(self, prefix: str) -> Iterator[Filed]:
        """Yield the objects below *prefix*, in the order of names."""
        try:
            for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=self._prefix + prefix):
                for entry in page.get("Contents", ()):
                    name = entry["Key"].removeprefix(self._prefix)
                    yield Filed(name, entry["Size"], entry["ETag"], entry["LastModified"].timestamp())
        except AWS_ERRORS as error:
            raise fault(error, "s3.ListObjectsV2") from error

    def read(self, name: str) -> Kept | None:
        """Return the object; None if it does not exist."""
        try:
            answer = self._client.get_object(Bucket=self._bucket, Key=self._prefix + name)
            with answer["Body"] as body:
                return Kept(body.read(), answer["ETag"])
        except AWS_ERRORS as error:
            if code_of(error) in _MISSING:
                return None
            raise fault(error, "s3.GetObject") from error

    def put_once(self, name: str, data: bytes) -> None:
        """Keep *data* unless the name exists."""
        self.swap(name, data, None)

    def swap(self, name: str, data: bytes, seen: str | None) -> bool:
        """Write *data* if the object still has the ETag *seen* (None: if it does not exist); return False otherwise."""
        match = {"IfNoneMatch": "*"} if seen is None else {"IfMatch": seen}
        for _ in range(TRIES):
            try:
                self._client.put_object(Bucket=self._bucket, Key=self._prefix + name, Body=data, **match)
            except AWS_ERRORS as error:
                if code_of(error) in _TAKEN | _MISSING:
                    return False
                if code_of(error) not in _CONFLICT:
                    raise fault(error, "s3.PutObject") from error
            else:
                return True
        raise Unavailable(f"s3.PutObject: another write to {name} is under way")

    def remove(self, names: Iterable[str]) -> None:
        """Delete the objects; a missing object is not an error."""
        keys = [{"Key": self._prefix + name} for name in names]
        for first in range(0, len(keys), MOST_DELETED):
            some = {"Objects": keys[first : first + MOST_DELETED], "Quiet": True}
            try:
                answer = self._client.delete_objects(Bucket=self._bucket, Delete=some)
            except AWS_ERRORS as error:
                raise fault(error, "s3.DeleteObjects") from error
            if answer.get("Errors"):
                raise _not_removed(answer["Errors"])


def _not_removed(errors: Sequence[Mapping[str, Any]]) -> SedanoError:
    """Return the error for objects that were not deleted: a permanent error takes precedence over a temporary one."""
    first = min(errors, key=lambda one: class_of(str(one.get("Code"))) == LATER)
    code = str(first.get("Code", ""))
    return verdict("s3.DeleteObjects", code, f"{first.get('Key')}: {first.get('Message', '')}", class_of(code))
