"""Blobs in S3 under their own digest: `blobs/<sha256>`. Immutable, so written only where nothing is (`If-None-Match`),
and verified when read.

A claim check comes from a message, so nothing in it is trusted: the digest must be one before it becomes part of a key,
no more is read than was declared plus one byte, and the bytes must have that digest.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from sedano.aws.client.bucket import Bucket
from sedano.model.messages.blob import require_digest, verified
from sedano.model.messages.message import BlobRef

PREFIX = "blobs/"


class S3Blobs:
    """The claim check's store.

    Args:
        client: an S3 client of botocore, or one that is made when first used (`Session.later`).
        bucket: the bucket's name.
    """

    def __init__(self, client: Any, bucket: str) -> None:
        """Use *bucket*; no call is made yet."""
        self._bucket = Bucket(client, bucket)

    def put(self, data: bytes) -> BlobRef:
        """Keep *data* and return its claim check; the same bytes give the same one."""
        digest = sha256(data).hexdigest()
        self._bucket.put_once(PREFIX + digest, data)
        return BlobRef(digest, len(data))

    def get(self, ref: BlobRef) -> bytes:
        """Return the bytes; raise `MessageRefused` (code `blob`) when missing, longer than declared, or of another digest."""
        require_digest(ref)
        return verified(ref, self._bucket.read(PREFIX + ref.digest, ref.size + 1))
