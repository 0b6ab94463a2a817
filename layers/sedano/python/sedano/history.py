"""Histories: a pipeline reads from one and commits to it. See `sedano.engine.history.commits` for the steps and
`sedano.model.history.manifests` for the rule.

    history = open_history("build/history")
    with editing(history) as edition:
        write_something_below(history.archive.place(edition.prefix))
        history.extend(edition, landed)
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sedano.engine.history.commits import Edition, History
from sedano.engine.leases import Leasing
from sedano.errors import SedanoError
from sedano.host.archives import CONTROL_TABLE, archive_at, landed_at, ports_at
from sedano.model.history.manifests import Part, Snapshot
from sedano.ports.archive import Archive

__all__ = ["CONTROL_TABLE", "Archive", "Edition", "History", "Part", "Snapshot", "editing", "find_jobs", "landed_at", "open_history"]

LEASE_MS = 5 * 60_000
"""How long (ms) a dead run blocks the next one; a live run renews its lease three times in this period."""


def open_history(place: str, lease_ms: int = LEASE_MS) -> History:
    """Return the history at *place*, a folder or `s3://bucket/prefix`; it need not exist yet.

    Raises:
        ConfigurationError: *place* cannot hold a history, or is in S3 and `SEDANO_CONTROL_TABLE` is not set.
    """
    return History(archive_at(place), Leasing(ports_at(place)), f"{socket.gethostname()}.{os.getpid()}", lease_ms)


def find_jobs() -> None:
    """Make `glue_jobs` importable from the installed wheel, where it is with the other deployed code; in a source tree, do nothing."""
    carried = Path(__file__).parent / "cdk" / "deployed"
    if carried.is_dir() and str(carried) not in sys.path:
        sys.path.append(str(carried))


@contextmanager
def editing(history: History, lease_ms: int = LEASE_MS) -> Iterator[Edition]:
    """Yield an edition of *history* and renew its lease until the block ends; raises the errors of `History.edition`."""
    over = threading.Event()

    def renew(edition: Edition) -> None:
        while not over.wait(lease_ms / 3000):
            try:
                if not history.keep(edition):
                    return
            except SedanoError:
                continue  # the lease only saves work; the commit itself is fenced

    with history.edition() as edition:
        keeper = threading.Thread(target=renew, args=(edition,), name="history lease", daemon=True)
        keeper.start()
        try:
            yield edition
        finally:
            over.set()
            keeper.join()
