"""A process of workers that works off as many tasks as asked for over ports that answer at once, and prints its memory at each quarter.

    python -m tests.stories.memory_of_worker 10000          # [--leaks BYTES]: a body that keeps so much of each task
"""

import gc
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from benchmarks.contenders.engine import batches
from benchmarks.stubs import GrantingLedger, SwallowingQueues, instant_ports
from benchmarks.tasks import add, app
from sedano.host.engine_process import ProcessSettings
from sedano.host.process_memory import used_memory
from sedano.host.worker_process import LaneSettings, WorkerProcess
from sedano.memory import VirtualClock
from sedano.model.ledger.records import Claim, ClaimAnswer, Claimed, TaskRecord
from sedano.model.states import RUNNING
from sedano.ports import Delivery

DIFFERENT = 2_000
"""How many different messages there are: more than a lane remembers."""
QUARTERS = 4


class HoldingLedger(GrantingLedger):
    """Grants every claim for as long as it asks."""

    def claim(self, claims: Sequence[Claim]) -> list[ClaimAnswer]:
        """Grant all."""
        return [Claimed(True, TaskRecord(c.task_id, RUNNING, fence=1, claims=1, nonce=c.nonce, expires=c.expires)) for c in claims]


class FeedingQueues(SwallowingQueues):
    """Gives out *tasks* messages and counts how many are deleted."""

    def __init__(self, tasks: int, given: Sequence[Delivery]) -> None:
        """Give out those that are *given*, again and again."""
        self._left, self._given, self._lock = tasks, given, threading.Lock()
        self._tasks, self._deleted, self.quarter = tasks, 0, threading.Semaphore(0)

    def receive(self, queue: str, most: int = 10, wait: float = 0.0) -> list[Any]:
        """Return the next messages; without any, wait a little."""
        with self._lock:
            number = min(most, self._left)
            first, self._left = self._left, self._left - number
        if not number:
            threading.Event().wait(wait)
        return [self._given[(first - one) % len(self._given)] for one in range(number)]

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """Count them, and say when another quarter is done."""
        with self._lock:
            before, self._deleted = self._deleted, self._deleted + len(deliveries)
            done = self._deleted * QUARTERS // self._tasks - before * QUARTERS // self._tasks
        if done:
            self.quarter.release(done)


def measured(tasks: int, leaks: int = 0) -> list[int]:
    """Return the bytes of memory that the process has at each quarter of so many *tasks*."""
    ports, kept = instant_ports(), []
    given = [delivery for batch in batches(ports, add.name, DIFFERENT) for delivery in batch]
    queues = FeedingQueues(tasks, given)
    settings = ProcessSettings(visibility=30.0, alone=False, listener=lambda *_: kept.append(bytes(leaks)) if leaks else None)
    ports = replace(ports, queues=queues, ledger=HoldingLedger(VirtualClock(0.0)))
    process = WorkerProcess(app, ports, settings, LaneSettings(concurrency=4, drain=5.0, poll=0.05))
    thread = threading.Thread(target=process.run)
    thread.start()
    found = []
    for _ in range(QUARTERS):
        if not queues.quarter.acquire(timeout=120):
            raise TimeoutError("the tasks did not end")
        gc.collect()
        found.append(used_memory())
    process.stop()
    thread.join()
    return found


if __name__ == "__main__":
    print(*measured(int(sys.argv[1]), int(sys.argv[3]) if "--leaks" in sys.argv else 0))
