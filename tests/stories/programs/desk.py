"""Publishes and works over one SQLite file in processes that are killed anywhere, and says each id that was confirmed.

    desk FILE publish           publishes some tasks
    desk FILE work AHEAD        works, on a clock so many seconds ahead, until nothing has come for a second (0: for ever)
    desk FILE ROUNDS SEED       each round forks a publisher and a worker and kills both, at a step or at a moment of their own

Most tasks publish another one, so that a killed worker leaves follow-ups to its successor. At the end one worker does what is left.
"""

import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from sedano import Sedano, memory
from sedano.aws.machine import SystemClock, SystemEntropy
from sedano.engine.history.recorder import Recorder
from sedano.engine.router import Router
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.model.history.run_rows import Host
from sedano.ports import EVENTS, RECORDS, Delivery, Ports, command_queue
from sedano.sqlite.deployment import connect

COMMANDS = command_queue("default")
BATCH_S = 30.0
ROUND_S = 100.0
"""Beyond the visibility and all claims: what a killed worker held is free in the next round."""
TASKS = 30
PAUSE_S = 0.01
app = Sedano("desk")


class Ahead(SystemClock):
    """The machine's clock, some rounds ahead."""

    ahead = 0.0

    def now(self) -> float:  # type: ignore[override]
        """Return the moment."""
        return time.time() + self.ahead


@app.task(name="note")
def note(number: int) -> int:
    """Do nothing but exist."""
    return number


@app.task(name="sign")
def sign(number: int) -> int:
    """Publish a follow-up, two times out of three, and take some time: a batch is in hand when its worker is killed."""
    time.sleep(PAUSE_S)
    if number % 3:
        note.delay(number)
    return number


@contextmanager
def killed_at(step: int) -> Iterator[None]:
    """Kill this process at the *step*th line that it begins, or function that it leaves, of the ports over SQLite."""
    left = step

    def traced(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        if "/sedano/sqlite/" not in frame.f_code.co_filename:
            return None
        if event in ("line", "return"):
            left -= 1
            if left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return traced

    sys.settrace(traced)
    try:
        yield
    finally:
        sys.settrace(None)


def publish(said: int, number: int) -> None:
    """Publish some tasks and say the id of each one that was confirmed."""
    for count in range(TASKS):
        os.write(said, f"{sign.delay(number * TASKS + count).id}\n".encode())


def work(ports: Ports, idle: int) -> None:
    """Work until the queues were empty *idle* times in a row."""
    worker = Worker(app.registry, ports, Host("worker", os.getpid()), WorkerSettings(lanes=0, poison_after=10_000), app.run_loop())
    router, recorder = Router(app.registry, ports, Host("router", 1)), Recorder(ports, Host("recorder", 1))
    works: dict[str, Callable[..., list[Delivery]]] = {COMMANDS: worker.work, EVENTS: router.route, RECORDS: recorder.record}
    empty = 0
    while empty < idle:
        empty += 1
        for queue, take in works.items():
            if deliveries := ports.queues.receive(queue):
                empty = 0
                back = {delivery.message_id for delivery in take(deliveries, ports.clock.now() + BATCH_S)}
                ports.queues.delete([delivery for delivery in deliveries if delivery.message_id not in back])
        if empty:
            ports.clock.sleep(0.005)


def forked(do: Callable[[], None], step: int) -> int:
    """Do it in a child, which is killed at the *step*th line (0: not by itself), and return its id."""
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            if step:
                with killed_at(step):
                    do()
            else:
                do()
        os._exit(0)
    return child


def main(path: Path, what: str, number: int) -> None:
    """Do what the arguments say."""
    ports = connect(path, ("default",), Ahead(), SystemEntropy(), memory.MemoryTelemetry())
    app.attach(ports)
    said = os.open(path.with_name("confirmed"), os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    if what == "publish":
        publish(said, 0)
    elif what == "work":
        Ahead.ahead = number
        work(ports, 200 if number else 1_000_000)
    else:
        crowd(ports, said, int(what), number)


def crowd(ports: Ports, said: int, rounds: int, seed: int) -> None:
    """Let *rounds* publishers and workers begin, kill them, and do what is left."""
    chance = random.Random(seed)
    publish(said, rounds)  # opens the file, which the children must not use through this connection
    for number in range(rounds):
        steps = [chance.randrange(1, most) if number % 2 else 0 for most in (900, 2_000)]
        doings = (lambda number=number: publish(said, number), lambda: work(ports, 1_000))
        children = [forked(do, step) for do, step in zip(doings, steps, strict=True)]
        time.sleep(chance.uniform(0.02, 0.15))
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        Ahead.ahead += ROUND_S
    work(ports, 20)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 0)
