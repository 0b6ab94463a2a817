"""Blobs under their digest, in memory."""

from __future__ import annotations

from hashlib import sha256

from sedano.model.messages.blob import require_digest, verified
from sedano.model.messages.message import BlobRef


class MemoryBlobs:
    """Blobs in a dict under their digest."""

    def __init__(self) -> None:
        """Start empty."""
        self._kept: dict[str, bytes] = {}

    def put(self, data: bytes) -> BlobRef:
        """Keep *data* and return its claim check."""
        digest = sha256(data).hexdigest()
        self._kept.setdefault(digest, bytes(data))
        return BlobRef(digest, len(data))

    def get(self, ref: BlobRef) -> bytes:
        """Return the bytes of *ref*, or raise `MessageRefused` (code `blob`)."""
        require_digest(ref)
        return verified(ref, self._kept.get(ref.digest))

    def damage(self, ref: BlobRef, data: bytes | None) -> None:
        """Replace the bytes of *ref*, or delete them (None), as a broken or hostile store would; for tests."""
        if data is None:
            self._kept.pop(ref.digest, None)
        else:
            self._kept[ref.digest] = data
