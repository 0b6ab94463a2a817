"""Programs behind a publisher that is killed again and again; each says what was confirmed to it.

    relay FOLDER ROUNDS SEED ACK      a publisher and three programs a round; at the end everything that waits is sent
"""

import os
import random
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sedano import result
from sedano.api import publisher_socket
from sedano.engine.publisher import socket_queues
from sedano.engine.publisher.spool import TAKEN_S, Spool
from sedano.engine.publisher.spool_folder import place
from sedano.host.publisher_command import PublisherOptions, run
from tests.stories.programs.press import Unhurried, killed_at
from tests.stories.programs.shelf import app, keep

LOADED = (publisher_socket, result, socket_queues)
"""Loaded here, so that no child spends its time on that."""
app.connect = "tests.stories.programs.press:connect"
PROGRAMS, EACH = 3, 8
KILLED = ("publisher_process.py", "publisher_lanes.py", "publisher_peer.py", "publisher/spool.py", "publisher_frames.py")
"""The modules of the publisher whose every line is a place to be killed at."""


def forked(work: Callable[[], object]) -> int:
    """Do *work* in a child of this process, and return its id."""
    child = os.fork()
    if child:
        return child
    status = 1
    with suppress(BaseException):
        work()
        status = 0
    os._exit(status)


def publisher(folder: Path, ack: str, step: int) -> None:
    """Be the publisher, and be killed at *step*, unless it is 0."""
    log = os.open(folder / "log", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    options = PublisherOptions(socket=str(folder / "p.sock"), ack=ack, lanes=2)
    if step:
        with killed_at(step, KILLED):
            run(app, options)
    else:
        run(app, options)


def program(folder: Path, name: str) -> None:
    """Publish some tasks by the publisher while the queue comes and goes, and say each one that was confirmed."""
    os.environ["SEDANO_PUBLISHER"] = f"unix:{folder / 'p.sock'}"
    said = os.open(folder / "confirmed", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    for number in range(EACH):
        if number % 4 == 3:
            (folder / "away").touch()
        elif number % 4 == 1:
            (folder / "away").unlink(missing_ok=True)
        keep.delay(f"{name}.{number}")
        os.write(said, f"{name}.{number}\n".encode())
    app.outlet.send_stored()


def listens(folder: Path, child: int) -> None:
    """Wait until the publisher *child* listens, or was killed before that."""
    while not os.waitpid(child, os.WNOHANG)[0]:
        with socket.socket(socket.AF_UNIX) as tries, suppress(OSError):
            tries.connect(str(folder / "p.sock"))
            return
        time.sleep(0.002)  # the start of another process


def one_round(folder: Path, ack: str, number: int, chance: random.Random) -> None:
    """Run a publisher and its programs, and end the publisher somewhere in the middle."""
    step = chance.randrange(50, 6_000) if number % 2 else 0
    child = forked(lambda: publisher(folder, ack, step))
    listens(folder, child)
    programs = [forked(lambda name=f"{number}.{one}": program(folder, name)) for one in range(PROGRAMS)]
    time.sleep(chance.uniform(0, 0.08))  # a place inside a write, where no line of ours is
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGTERM if number % 4 == 2 else signal.SIGKILL)
    for one in (child, *programs):
        with suppress(ChildProcessError):
            os.waitpid(one, 0)
    Unhurried.ahead += 2 * TAKEN_S  # what was taken by a publisher that was killed is free after a minute


def main(folder: Path, rounds: int, seed: int, ack: str) -> None:
    """Let *rounds* publishers end, and send what waits."""
    chance = random.Random(seed)
    for number in range(rounds):
        one_round(folder, ack, number, chance)
    (folder / "away").unlink(missing_ok=True)
    last = forked(lambda: publisher(folder, ack, 0))
    listens(folder, last)
    os.waitpid(forked(lambda: behind(folder)), 0)
    here = place(app.name)
    while here is not None and Spool(here).waiting():
        time.sleep(0.02)  # the work of another process
    os.kill(last, signal.SIGTERM)
    print(os.waitstatus_to_exitcode(os.waitpid(last, 0)[1]), flush=True)
    os._exit(0)


def behind(folder: Path) -> None:
    """Send what programs behind the publisher have stored themselves."""
    os.environ["SEDANO_PUBLISHER"] = f"unix:{folder / 'p.sock'}"
    app.outlet.send_stored()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
