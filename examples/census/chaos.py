"""What the demo does to its own run: messages are delivered twice, and worker processes are killed in the middle of tasks.

- The doubler takes messages that wait in a queue, sends the same body once more (a true duplicate: the same CloudEvents id), at
  once or a few seconds later, and lets the original go on. So a copy arrives before, while or after its original runs.
- The killer sends SIGKILL to worker processes, as the loss of a machine would. Its victims are members: workers that have begun to
  work, not ones that still start. Whether one was at work is not guessed: the endpoint says when it died under an invocation.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Any, Self

from sedano.local import Endpoint

DELAYS_S = (0, 0, 1, 3, 6)
AT_ONCE = 10
HIDDEN_S = 10
PAUSE_S = 0.4
NOTHING_NEW_S = 1.5
BETWEEN_KILLS_S = 2.5
TRIES_A_KILL = 4
WORKER = "WorkerFunction"
_DIED = re.compile(rf"{WORKER}\S* failed processing SQS batch .*Worker process died")


@dataclass(frozen=True, slots=True)
class Plan:
    """How much of it: duplicates by queue URL, and kills that must hit a running invocation."""

    duplicates: Mapping[str, int]
    kills: int


@dataclass(frozen=True, slots=True)
class Kill:
    """A SIGKILL: when (epoch s), to which process, and whether an invocation ran in it."""

    at: float
    pid: int
    hit: bool


@dataclass(slots=True)
class Done:
    """What was done so far: when each message was sent again, by queue URL, and the kills."""

    duplicates: dict[str, list[float]] = field(default_factory=dict)
    kills: list[Kill] = field(default_factory=list)

    @property
    def injected(self) -> int:
        """How many messages were sent a second time."""
        return sum(map(len, self.duplicates.values()))

    @property
    def hits(self) -> int:
        """How many kills hit a running invocation."""
        return sum(kill.hit for kill in self.kills)


class Chaos:
    """Does what *plan* says to the stage on *endpoint*, from `begin` to the end of the `with` statement."""

    def __init__(self, endpoint: Endpoint, sqs: Any, members: Callable[[], Collection[int]], plan: Plan, seed: int) -> None:
        """Do nothing yet; *members* tells the process ids of the workers, *seed* decides which is killed and how late a copy comes."""
        self.done = Done()
        self._endpoint, self._sqs, self._members, self._plan = endpoint, sqs, members, plan
        self._random = random.Random(seed)
        self._stop = Event()
        self._threads = ThreadPoolExecutor(2, "chaos")
        self._work: list[Future[None]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        self._threads.shutdown()

    def begin(self) -> None:
        """Begin; call it when the first tasks have run, so that there is something to hit."""
        if not self._work:
            self._work = [self._threads.submit(work) for work in (self._double, self._kill)]

    def stop(self) -> None:
        """Stop; what went wrong in chaos itself is raised here."""
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
                if not copies:  # each look counts as a receive of what it sees, so the same messages are not looked at all the time
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
        for _ in range(self._plan.kills * TRIES_A_KILL):
            if self.done.hits >= self._plan.kills or self._stop.wait(BETWEEN_KILLS_S):
                return
            running = {process.pid for process in self._endpoint.functions() if WORKER in process.function}
            workers = sorted(running.intersection(self._members()))
            if workers:
                self.done.kills.append(self._kill_one(self._random.choice(workers)))

    def _kill_one(self, pid: int) -> Kill:
        before, at = deaths(self._endpoint.log), time.time()
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        hit = False
        while not hit and time.time() < at + 1 and not self._stop.wait(0.05):
            hit = deaths(self._endpoint.log) > before
        return Kill(at, pid, hit)


def deaths(log: Path) -> int:
    """Return how many worker processes died under an invocation, as the endpoint's *log* tells."""
    return len(_DIED.findall(log.read_text(errors="replace")))


def identity(body: str) -> str:
    """Return what makes a message itself: its CloudEvents id; a packed record, which has none, is its own text."""
    found = json.loads(body)
    return str(found.get("id", body))
