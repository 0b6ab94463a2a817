"""Blobs in the table `blob`, under their own digest. Putting a blob again extends its lifetime, as on S3."""

from __future__ import annotations

from hashlib import sha256

from sedano.model.messages.blob import require_digest, verified
from sedano.model.messages.message import BlobRef
from sedano.ports import Clock
from sedano.sqlite.store import Store

PUT = "INSERT INTO blob VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET kept = max(kept, excluded.kept)"
_GET = "SELECT data FROM blob WHERE digest = ?"


class SqliteBlobs:
    """The blobs of one deployment over one SQLite file."""

    def __init__(self, store: Store, clock: Clock) -> None:
        """Use *store*; *clock* says when a blob was last put."""
        self._store, self._clock = store, clock

    def put(self, data: bytes) -> BlobRef:
        """Keep *data* and return its claim check."""
        digest = sha256(data).hexdigest()
        with self._store.changing() as database:
            database.execute(PUT, (digest, int(self._clock.now()), data))
        return BlobRef(digest, len(data))

    def get(self, ref: BlobRef) -> bytes:
        """Return the bytes of *ref*, or raise `MessageRefused` (code `blob`)."""
        require_digest(ref)
        return verified(ref, next((data for (data,) in self._store.rows(_GET, ref.digest)), None))
