"""A demo as a command: the folder of its application, the app on a stage, its errors in words, and Ctrl-C."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, ModuleType
from typing import Final

from examples.local_run.progress import Progress
from sedano import Sedano

ROOT: Final = Path(__file__).resolve().parents[2]
FAILED, INTERRUPTED = 1, 130
"""The exit status of a demo that cannot run or has found a fault, and of one that was interrupted."""


def run_command(work: Callable[[], int], progress: Progress, errors: tuple[type[Exception], ...]) -> int:
    """Return the status of *work*; on one of *errors* print it and return `FAILED`, on Ctrl-C or SIGTERM return `INTERRUPTED`."""
    signal.signal(signal.SIGTERM, _terminated)
    try:
        return work()
    except errors as error:
        progress.phase(f"the demo cannot run: {error}")
        return FAILED
    except KeyboardInterrupt:
        progress.phase("interrupted; everything that was started is stopped")
        return INTERRUPTED


def copied(application: ModuleType, code: Path) -> Path:
    """Copy the module *application* to *code*, the folder of its layer, under the name that this process also uses; return the folder."""
    source = Path(str(application.__file__))
    place = code / source.relative_to(ROOT)
    place.parent.mkdir(parents=True)
    shutil.copyfile(source, place)
    return code


@contextmanager
def on_stage(app: Sedano, environment: Mapping[str, str]) -> Iterator[None]:
    """Let *app* use the stage that *environment* names, until the `with` statement ends."""
    os.environ.update(environment)
    try:
        yield
    finally:
        app.close()
        app.attach(None)


def _terminated(number: int, _: FrameType | None) -> None:
    raise KeyboardInterrupt
