"""Checks of a blob's bytes, for every store. A claim check (Hohpe and Woolf) comes from a message, so nothing in it is trusted."""

from __future__ import annotations

import re
from hashlib import sha256

from sedano.errors import MessageRefused
from sedano.model import refusals
from sedano.model.messages.message import BlobRef

_DIGEST = re.compile("[0-9a-f]{64}")


def require_digest(ref: BlobRef) -> None:
    """Raise `MessageRefused` (code `blob`) unless *ref* names a digest, which may then become part of a key."""
    if not _DIGEST.fullmatch(ref.digest):
        raise MessageRefused(refusals.BLOB, "dataref", "is not a digest")


def verified(ref: BlobRef, data: bytes | None) -> bytes:
    """Return *data*, the bytes that a store has for *ref*, after checking them; *data* is None if the store has no such blob.

    Raises:
        MessageRefused: the blob is missing, or its size or digest differs from *ref* (code `blob`).
    """
    if data is None:
        raise MessageRefused(refusals.BLOB, "dataref", "no such blob in this deployment")
    if len(data) != ref.size:
        raise MessageRefused(refusals.BLOB, "datasize", f"declared {ref.size} bytes, but the blob has another size")
    if sha256(data).hexdigest() != ref.digest:
        raise MessageRefused(refusals.BLOB, "dataref", "the blob's bytes are not those of its digest")
    return data
