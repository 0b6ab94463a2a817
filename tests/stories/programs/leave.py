"""Publishes three tasks and leaves, in the way that its first argument says: normally, with an exception, by a signal, in a batch."""

import signal
import sys
from contextlib import nullcontext
from pathlib import Path

from tests.stories.programs.shelf import app, keep


def main(way: str, back: Path | None) -> None:
    """Publish, say `ready`, and leave."""
    with app.batch() if way == "batch" else nullcontext():
        for what in ("a", "b", "c"):
            keep.delay(what)
        if back is not None:
            back.unlink()
        print("ready", flush=True)
        if way in ("signal", "batch"):
            signal.pause()
    if way == "exception":
        raise RuntimeError("by accident")


main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else None)
