"""The history of worker events in S3: `events/dt=YYYY-MM-DD/<sha256 of the lines>.jsonl.gz`, which the Spark job reads.

A name is the digest of the received lines, so a recorder that is delivered the same messages twice writes one object, and nothing in the
history ever changes. The recorder's line about its own work follows them, outside the name: its times differ at each try.
The compression stores no time, so the same lines are the same bytes.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from sedano.aws.client.bucket import Bucket
from sedano.errors import OptionError

PREFIX = "events/"
COSTS: Mapping[str, int] = {"s3.PutObject": 1}
"""The calls of one `append`."""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class S3Events:
    """The history bucket.

    Args:
        client: a botocore S3 client, or one that is made when first used (`Session.later`).
        bucket: the bucket's name.
    """

    def __init__(self, client: Any, bucket: str) -> None:
        """Use *bucket*; no call is made yet."""
        self._bucket = Bucket(client, bucket)

    def append(self, day: str, lines: bytes, own: bytes = b"") -> str:
        """Keep *lines* (JSON lines) of *day* (YYYY-MM-DD) once, with the *own* lines of the first writer, and return the object's name."""
        name = f"{PREFIX}dt={_checked(day)}/{sha256(lines).hexdigest()}.jsonl.gz"
        self._bucket.put_once(name, gzip.compress(lines + own, mtime=0))
        return name

    def read(self, since: str = "") -> Iterator[bytes]:
        """Yield the contents of every object, in the order of their names; only those of the day *since* and later, if one is given."""
        for name in self._bucket.names(PREFIX, f"{PREFIX}dt={_checked(since)}" if since else ""):
            data = self._bucket.read(name)
            if data is not None:
                yield gzip.decompress(data)


def _checked(day: str) -> str:
    if not _DAY.fullmatch(day):
        raise OptionError(f"day: {day[:20]!r} is not YYYY-MM-DD")
    return day
