"""The spool: where messages wait on disk that could not be sent before the process had to end.

Written only by `Sedano.close` for a backlog that the queue did not take; sent, and removed, by the next process of the same app that
connects to the same deployment: what was meant for one stage never runs in another. A file is locked while it is sent, so two processes
do not send the same one, and a process that dies meanwhile leaves it to the next; a message sent twice is absorbed by its claim.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from sedano.engine.drafts import Addressed
from sedano.ports import Outgoing

SUFFIX = ".jsonl"


def directory(app: str) -> Path:
    """Return the directory of *app*'s spool for the deployment whose queues the environment names.

    It stands in SEDANO_SPOOL, by default in the user's own state directory.
    """
    deployment = hashlib.sha256(os.environ.get("SEDANO_QUEUES", "").encode()).hexdigest()[:16]
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(os.environ.get("SEDANO_SPOOL") or Path(state) / "sedano" / "spool") / quote(app, safe="").replace(".", "%2E") / deployment


def write(app: str, name: str, messages: Sequence[Addressed]) -> Path:
    """Keep *messages* in a new file of *app*'s spool and return its path; only the owner can read it."""
    folder = directory(app)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{name}{SUFFIX}"
    lines = [json.dumps([m.queue, m.outgoing.body, m.outgoing.delay, m.outgoing.tenant, m.outgoing.serial_key]) for m in messages]
    descriptor = os.open(path.with_suffix(".part"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        os.fsync(file.fileno())
    path.with_suffix(".part").rename(path)
    return path


def take(app: str) -> Iterator[tuple[Path, list[Addressed]]]:
    """Yield each spooled file of *app*, locked for this process, with its messages; unlink it once they are sent."""
    folder = directory(app)
    for path in sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else ():
        with suppress(FileNotFoundError, BlockingIOError), path.open(encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file.fileno()).st_nlink:
                yield path, [_message(line) for line in file]


def _message(line: str) -> Addressed:
    queue, body, delay, tenant, *key = json.loads(line)
    return Addressed(queue, Outgoing(body, delay, tenant, serial_key=key[0] if key else None))
