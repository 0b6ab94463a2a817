"""The faults of a demo: messages are delivered twice, and functions are killed in the middle of tasks.

- The doubler takes messages that wait in a queue, sends the same body once more (a true duplicate: the same CloudEvents id), at
  once or a few seconds later, and releases the original. So a copy arrives before, while or after its original runs.
- The killer sends SIGKILL to the processes of functions, as the loss of a machine would. It chooses workers that hold claims at that
  moment, according to the records. A kill hit a worker at work if it left claims on which no worker makes progress; the killer continues
  until enough kills have hit.

A demo may add faults of its own.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event
from types import TracebackType
from typing import Any, Self

from examples.local_run.changes import Holders, abandoned
from sedano.local import Endpoint

DELAYS_S = (0, 0, 1, 3, 6)
AT_ONCE = 10
HIDDEN_S = 10
PAUSE_S = 0.25
NOTHING_NEW_S = 1.5
LOOK_S = 0.1
STILL_S = 0.8
MOST_TRIES = 16
WORKER = "WorkerFunction"
Fault = Callable[[Event], None]
"""Causes faults of one kind until enough were caused, or until the event is set."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The number of faults: duplicates by queue URL, and kills of functions that must hit a worker at work."""

    duplicates: Mapping[str, int]
    kills: int


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


class Chaos:
    """Causes the faults of *plan* in the stage on *endpoint*, from the first end of a task to the end of the `with` statement."""

    def __init__(self, endpoint: Endpoint, sqs: Any, holders: Holders, plan: Plan, seed: int, others: Sequence[Fault] = ()) -> None:
        """Do nothing yet; *seed* decides which workers are killed and how late each copy is sent; *others* are caused beside them."""
        self.done = Done()
        self._endpoint, self._sqs, self._holders, self._plan = endpoint, sqs, holders, plan
        self._random = random.Random(seed)
        self._stop = Event()
        self._faults: tuple[Fault, ...] = (self._double, self._kill, *others)
        self._threads = ThreadPoolExecutor(len(self._faults), "chaos")
        self._work: list[Future[None]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        self._threads.shutdown()

    def begin(self) -> None:
        """Begin, if it has not begun yet; call it when the first task has ended, because then workers are at work."""
        if not self._work:
            self._work = [self._threads.submit(fault, self._stop) for fault in self._faults]

    def stop(self) -> None:
        """Stop; an error of the chaos itself is raised here."""
        self._stop.set()
        for work in self._work:
            work.result()

    def _double(self, stop: Event) -> None:
        seen: set[str] = set()
        rests = dict.fromkeys(self._plan.duplicates, 0.0)
        while not stop.wait(PAUSE_S):
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

    def _kill(self, stop: Event) -> None:
        known: set[int] = set()
        while self._may_kill() and not stop.wait(LOOK_S):
            running = {process.pid for process in self._endpoint.functions() if WORKER in process.function}
            fresh = any(lapse > time.time() * 1000 and lapse not in known for lapse in self._holders.claims())
            workers = sorted(running.intersection(self._holders.at_work(time.time())))
            if fresh and workers:
                self.done.kills.append(self._kill_one(self._random.choice(workers), known))

    def _may_kill(self) -> bool:
        return sum(kill.hit for kill in self.done.kills) < self._plan.kills and len(self.done.kills) < MOST_TRIES

    def _kill_one(self, pid: int, known: set[int]) -> Kill:
        """Kill one worker and check whether it leaves claims behind; *known* are those that others left."""
        at = time.time()
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        held = self._holders.claims()
        self._stop.wait(STILL_S)
        left = abandoned(held, self._holders.claims()) - known
        known |= left
        return Kill(at, pid, bool(left))


def identity(body: str) -> str:
    """Return the identity of a message: its CloudEvents id; for a packed record, which has none, its text."""
    found = json.loads(body)
    return str(found.get("id", body))
