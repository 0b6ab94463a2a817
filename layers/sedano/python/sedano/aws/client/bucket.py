"""Objects of one S3 bucket: put once, read with a size limit, list. Used by blobs and the history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sedano.aws.client.faults import AWS_ERRORS, code_of, fault
from sedano.errors import ConfigurationError, Unavailable

TRIES = 3
_EXISTS = frozenset({"PreconditionFailed", "412"})
_CONFLICT = frozenset({"ConditionalRequestConflict", "409"})
_MISSING = frozenset({"NoSuchKey", "404", "NotFound"})


class Bucket:
    """A bucket through a botocore client."""

    __slots__ = ("_client", "_name")

    def __init__(self, client: Any, name: str) -> None:
        """Use the bucket *name* through *client*."""
        self._client = client
        self._name = name

    def put_once(self, key: str, data: bytes) -> None:
        """Put *data* at *key* unless the key exists; an existing object counts as put, because keys are digests of contents."""
        for _ in range(TRIES):
            try:
                self._client.put_object(Bucket=self._name, Key=key, Body=data, IfNoneMatch="*")
            except AWS_ERRORS as error:
                if code_of(error) in _EXISTS:
                    return
                if code_of(error) not in _CONFLICT:
                    raise fault(error, "s3.PutObject") from error
            else:
                return
        raise Unavailable("s3.PutObject: another write to the same key is under way")

    def read(self, key: str, most: int | None = None) -> bytes | None:
        """Return at most *most* bytes (None: all) of the object at *key*; None if it does not exist."""
        try:
            body = self._client.get_object(Bucket=self._name, Key=key)["Body"]
            try:
                data: bytes = body.read(most)
            finally:
                body.close()
        except AWS_ERRORS as error:
            if code_of(error) in _MISSING:
                return None
            if code_of(error) == "AccessDenied":
                raise ConfigurationError(
                    f"s3.GetObject: denied for {key} in {self._name}; "
                    "S3 also answers this for a missing object if the role lacks s3:ListBucket"
                ) from error
            raise fault(error, "s3.GetObject") from error
        return data

    def names(self, prefix: str, after: str = "") -> Iterator[str]:
        """Yield the keys under *prefix* in order; only the keys after *after*, if given."""
        asked = {"Bucket": self._name, "Prefix": prefix, **({"StartAfter": after} if after else {})}
        try:
            for page in self._client.get_paginator("list_objects_v2").paginate(**asked):
                for entry in page.get("Contents", ()):
                    yield entry["Key"]
        except AWS_ERRORS as error:
            raise fault(error, "s3.ListObjectsV2") from error
