"""The latest pages of canvases that this process has read. A page never changes under its name, so a cached page is not read again."""

from __future__ import annotations

import threading
from collections import OrderedDict

from sedano.model.canvas.page_reader import Item, parse, referred
from sedano.model.messages.message import BlobRef
from sedano.ports import Blobs

MOST_PAGES = 64
"""About 2 MB of JSON."""


class Plans:
    """Reads pages by name and keeps the last few. Thread-safe."""

    __slots__ = ("_blobs", "_lock", "_pages", "_written")

    def __init__(self, blobs: Blobs) -> None:
        """Read pages from *blobs* unless they are in the message itself."""
        self._blobs = blobs
        self._pages: OrderedDict[str, Item] = OrderedDict()
        self._lock = threading.Lock()
        self._written: tuple[BlobRef, bytes] | None = None

    def put(self, page: bytes) -> BlobRef:
        """Store a page; the last one is cached, because a canvas begins in the page that is written last.

        Raises:
            Unavailable: the blob store does not answer.
        """
        ref = self._blobs.put(page)
        self._written = (ref, page)
        return ref

    def load(self, name: str) -> Item:
        """Return the page *name*.

        Raises:
            MessageRefused: it is missing (code `blob`), or inconsistent (`schema`).
            Unavailable: the blob store does not answer.
        """
        with self._lock:
            known = self._pages.get(name)
            if known is not None:
                self._pages.move_to_end(name)
                return known
        page = parse(name if name.startswith("{") else self._read(name))
        with self._lock:
            self._pages[name] = page
            if len(self._pages) > MOST_PAGES:
                self._pages.popitem(last=False)
        return page

    def _read(self, name: str) -> bytes:
        ref = referred(name)
        written = self._written
        return written[1] if written is not None and written[0] == ref else self._blobs.get(ref)
