"""Blobs in S3, named by their digest: `blobs/<sha256>`. Blobs are immutable: a blob is written only if its key does not exist
(`If-None-Match`), and verified when it is read.

A claim check arrives in a message, so it is not trusted: its digest is validated before it becomes part of a key, at most the declared size
plus one byte is read, and the digest of these bytes is compared.
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
        client: a botocore S3 client, or a placeholder that makes one at its first use (`Session.later`).
        bucket: the bucket's name.
    """

    def __init__(self, client: Any, bucket: str) -> None:
        """Use *bucket*; no call is made yet."""
        self._bucket = Bucket(client, bucket)

    def put(self, data: bytes) -> BlobRef:
        """Store *data* and return its claim check; equal bytes get equal claim checks."""
        digest = sha256(data).hexdigest()
        self._bucket.put_once(PREFIX + digest, data)
        return BlobRef(digest, len(data))

    def get(self, ref: BlobRef) -> bytes:
        """Return the bytes; raise `MessageRefused` (code `blob`) when they are missing, longer than declared, or have another digest."""
        require_digest(ref)
        return verified(ref, self._bucket.read(PREFIX + ref.digest, ref.size + 1))
