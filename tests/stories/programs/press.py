"""Publishes to queues on disk that are away now and then, and says each id that was confirmed; for processes that are killed anywhere.

    press FOLDER ROUNDS SEED       fork ROUNDS children, kill each at a step or at a moment of its own, and say what was confirmed
"""

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from sedano import memory, result
from sedano.aws.machine import SystemClock
from sedano.ports import Ports
from sedano.ports.backlog import TAKEN_S
from tests.stories.programs.shelf import Shelf, app, keep

LOADED = result
"""Loaded here, so that no child spends its time on that."""
SENT = ("publisher/publisher.py", "publisher/sender.py", "publisher/spool.py", "publisher/backlog.py")
"""The modules whose every line is a place to be killed at."""


class Unhurried(SystemClock):
    """The machine's clock, some seconds ahead, on which pauses take no time."""

    ahead = 0.0

    def now(self) -> float:  # type: ignore[override]
        """Return the moment."""
        return time.time() + self.ahead

    def sleep(self, seconds: float) -> None:  # type: ignore[override]
        """Go on at once."""


def connect() -> Ports:
    """Ports in memory, with queues on disk and real time."""
    shelf: Any = Shelf(Path(os.environ["SHELF"]))
    return replace(memory.ports(seed=os.getpid()), queues=shelf, clock=Unhurried())


app.connect = f"{__name__}:connect"


@contextmanager
def killed_at(step: int, modules: tuple[str, ...] = SENT) -> Iterator[None]:
    """Kill this process at the *step*th line that it runs of *modules*, by default of what publishes and stores."""
    left = step

    def traced(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.endswith(modules):
            return None
        if event == "line":
            left -= 1
            if left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return traced

    threading.settrace(traced)
    sys.settrace(traced)
    try:
        yield
    finally:
        sys.settrace(None)


def publish(folder: Path, number: int, said: int) -> None:
    """Publish nine tasks while the queue comes and goes, and say each one that was confirmed."""
    for count in range(9):
        away = folder / "away"
        away.touch() if count % 3 else away.unlink(missing_ok=True)
        name = f"{number}.{count}"
        keep.delay(name)
        os.write(said, f"{name}\n".encode())


def main(folder: Path, rounds: int, seed: int) -> None:
    """Let *rounds* children publish, and kill each."""
    chance = random.Random(seed)
    said = os.open(folder / "confirmed", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    for number in range(rounds):
        step = chance.randrange(1, 2_500) if number % 2 else 0
        moment = chance.uniform(0, 0.15)
        began, begin = os.pipe()
        child = os.fork()
        if child == 0:
            with suppress(BaseException):
                app.outlet.send_stored()
                os.write(begin, b".")
                if step:
                    with killed_at(step):
                        publish(folder, number, said)
                else:
                    publish(folder, number, said)
            os._exit(0)
        os.close(begin)
        os.read(began, 1)
        os.close(began)
        if not step:
            time.sleep(moment)  # a place inside a write, where no line of ours is
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    (folder / "away").unlink(missing_ok=True)
    Unhurried.ahead = 2 * TAKEN_S  # what a child had taken when it was killed is free after a minute
    app.outlet.send_stored()
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
