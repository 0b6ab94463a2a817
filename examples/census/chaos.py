"""The faults of the demo: messages are delivered twice, and worker processes are killed in the middle of tasks.

- The doubler takes messages that wait in a queue, sends the same body once more (a true duplicate: the same CloudEvents id), at
  once or a few seconds later, and releases the original. So a copy arrives before, while or after its original runs.
- The killer sends SIGKILL to worker processes, as the loss of a machine would. It chooses workers that hold claims at that
  moment, according to the records. A kill hit a worker at work if it left claims on which no worker makes progress; the killer continues
  until enough kills have hit.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event
from types import TracebackType
from typing import Any, Self

from examples.census.changes import Claims, abandoned
from examples.census.processes import Processes
from sedano.local import Endpoint

DELAYS_S = (0, 0, 1, 3, 6)
AT_ONCE = 10
HIDDEN_S = 10
PAUSE_S = 0.25
NOTHING_NEW_S = 1.5
LOOK_S = 0.1
STILL_S = 0.8
LANDED_S, BETWEEN_PROCESSES_S = 0.2, 3.0
"""Seconds until the requests of stopped processes have arrived, and between two kills of processes."""
MOST_TRIES = 16
WORKER = "WorkerFunction"


@dataclass(frozen=True, slots=True)
class Plan:
    """The number of faults: duplicates by queue URL, and kills of functions and of processes that must hit a worker at work."""

    duplicates: Mapping[str, int]
    kills: int
    process_kills: int = 0


@dataclass(frozen=True, slots=True)
class Kill:
    """A SIGKILL: its moment (epoch s), its process, and whether it left claims behind."""

    at: float
    pid: int
    hit: bool


@dataclass(slots=True)
class Done:
    """The faults so far: when each message was sent again, by queue URL, and the kills of functions and of processes."""

    duplicates: dict[str, list[float]] = field(default_factory=dict)
    kills: list[Kill] = field(default_factory=list)
    process_kills: list[Kill] = field(default_factory=list)

    @property
    def injected(self) -> int:
        """How many messages were sent a second time."""
        return sum(map(len, self.duplicates.values()))

    @property
    def hits(self) -> int:
        """How many kills hit a worker at work."""
        return sum(kill.hit for kill in (*self.kills, *self.process_kills))


@dataclass(frozen=True, slots=True)
class Sight:
    """The view of the killers: the claims that functions hold, and the process ids of the functions, and of the processes of
    `sedano worker`, that hold claims at a moment (epoch s).
    """

    claims: Callable[[], Claims]
    at_work: Callable[[float], Collection[int]]
    processes_at_work: Callable[[float], Collection[int]]


class Chaos:
    """Causes the faults of *plan* in the stage on *endpoint*, from the first end of a task to the end of the `with` statement."""

    def __init__(self, endpoint: Endpoint, processes: Processes | None, sqs: Any, sight: Sight, plan: Plan, seed: int) -> None:
        """Do nothing yet; *seed* decides which workers are killed and how late each copy is sent."""
        self.done = Done()
        self._processes = processes
        self._endpoint, self._sqs, self._sight, self._plan = endpoint, sqs, sight, plan
        self._random = random.Random(seed)
        self._stop = Event()
        self._threads = ThreadPoolExecutor(3, "chaos")
        self._work: list[Future[None]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        self._threads.shutdown()

    def begin(self) -> None:
        """Begin, if it has not begun yet; call it when the first task has ended, because then workers are at work."""
        if not self._work:
            self._work = [self._threads.submit(work) for work in (self._double, self._kill, self._kill_processes)]

    def stop(self) -> None:
        """Stop; an error of the chaos itself is raised here."""
        self._stop.set()
        for work in self._work:
            work.result()

    def _double(self) -> None:
        seen: set[str] = set()
        rests = dict.fromkeys(self._plan.duplicates, 0.0)
        while not self._stop.wait(PAUSE_S):
            left = {url: most - len(self.done.duplicates.get(url, ())) for url, most in self._plan.duplicates.items()}
            if not any(left.values()):
                return
            for url in [url for url, most in left.items() if most > 0 and rests[url] <= time.monotonic()]:
                copies = self._double_some(url, min(left[url], AT_ONCE), seen)
                self.done.duplicates.setdefault(url, []).extend([time.time()] * copies)
                if not copies:  # each read counts as a receive of its messages, so pause before reading the same messages again
                    rests[url] = time.monotonic() + NOTHING_NEW_S

    def _double_some(self, url: str, most: int, seen: set[str]) -> int:
        answer = self._sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=most, VisibilityTimeout=HIDDEN_S, WaitTimeSeconds=0)
        messages = answer.get("Messages", [])
        fresh = {identity(message["Body"]): message["Body"] for message in messages}
        bodies = [body for name, body in fresh.items() if name not in seen]
        seen |= set(fresh)
        copies = [
            {"Id": str(number), "MessageBody": body, "DelaySeconds": self._random.choice(DELAYS_S)} for number, body in enumerate(bodies)
        ]
        if copies:
            self._sqs.send_message_batch(QueueUrl=url, Entries=copies)
        shown = [{"Id": str(n), "ReceiptHandle": m["ReceiptHandle"], "VisibilityTimeout": 0} for n, m in enumerate(messages)]
        if shown:
            self._sqs.change_message_visibility_batch(QueueUrl=url, Entries=shown)
        return len(copies)

    def _kill(self) -> None:
        known: set[int] = set()
        while self._may_kill() and not self._stop.wait(LOOK_S):
            running = {process.pid for process in self._endpoint.functions() if WORKER in process.function}
            fresh = any(lapse > time.time() * 1000 and lapse not in known for lapse in self._sight.claims())
            workers = sorted(running.intersection(self._sight.at_work(time.time())))
            if fresh and workers:
                self.done.kills.append(self._kill_one(self._random.choice(workers), known))

    def _may_kill(self) -> bool:
        return sum(kill.hit for kill in self.done.kills) < self._plan.kills and len(self.done.kills) < MOST_TRIES

    def _kill_one(self, pid: int, known: set[int]) -> Kill:
        """Kill one worker and check whether it leaves claims behind; *known* are those that others left."""
        at = time.time()
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        held = self._sight.claims()
        self._stop.wait(STILL_S)
        left = abandoned(held, self._sight.claims()) - known
        known |= left
        return Kill(at, pid, bool(left))

    def _kill_processes(self) -> None:
        """Kill processes of `sedano worker` while they hold claims; each is replaced by a new one.

        They are stopped first, so that none finishes its tasks between the read of its claims and its end.
        """
        while self._processes is not None and len(self.done.process_kills) < self._plan.process_kills and not self._stop.wait(LOOK_S):
            with self._processes.stopped():
                self._stop.wait(LANDED_S)
                busy = sorted(self._processes.pids.intersection(self._sight.processes_at_work(time.time())))
                if busy:
                    self.done.process_kills.append(Kill(time.time(), busy[0], True))
                    self._processes.replace(busy[0])
            if busy:
                self._stop.wait(BETWEEN_PROCESSES_S)


def identity(body: str) -> str:
    """Return the identity of a message: its CloudEvents id; for a packed record, which has none, its text."""
    found = json.loads(body)
    return str(found.get("id", body))
