"""Time and flow in the same run: a periodic task, calls that are limited, and an archive that is down and then repaired.

The ticks begin before the files are published: the scheduler's function is invoked several times at once, as by EventBridge Scheduler each
minute. The calls follow when most of the files are counted; the tasks of killed workers are still hidden then, so the calls take no
additional time. At the end the ticks are paused, and those published ahead are withdrawn.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from examples.census import tasks
from examples.census.flow_checks import SCHEDULE, Ticking, Trip
from examples.census.services import Services
from sedano.errors import Unavailable
from sedano.local import LocalStage

LOOK_UPS, STORES = 40, 12
ROUNDS_AT_ONCE = 3
MOST_COUNTED = 0.8
"""The calls are published when this share of the files' tasks has ended."""
DOWN_S, TRIPS_WITHIN_S = 3.0, 30.0
"""The seconds after which the archive is repaired: after its circuit tripped, and at the latest after the first call."""
SCHEDULER, ANSWER_S = "SchedulerFunction", 300.0


class SchedulerError(Exception):
    """A round of the scheduler's function failed; the message has its output."""


class Flow:
    """The ticks, the limited calls and the archive on *stage*, with the *services* that are called."""

    def __init__(self, stage: LocalStage, services: Services) -> None:
        """Begin nothing yet."""
        patient = Config(read_timeout=ANSWER_S, retries={"total_max_attempts": 1})
        self._lambda = stage.endpoint.session().client("lambda", endpoint_url=stage.endpoint.url, config=patient)
        self._services = services
        self._published = self._down = 0.0
        self.seen: list[Trip] = []
        self._ticking: Ticking | None = None
        self._begun = (0.0, 0.0)
        self.expected = expected_ids()

    def begin(self) -> None:
        """Start the ticks with several rounds of the scheduler at once.

        Raises:
            SchedulerError: a round failed.
        """
        began = time.time()
        names = [found["FunctionName"] for page in self._lambda.get_paginator("list_functions").paginate() for found in page["Functions"]]
        (scheduler,) = [name for name in names if SCHEDULER in name]
        with ThreadPoolExecutor(ROUNDS_AT_ONCE, "scheduler") as threads:
            rounds = [threads.submit(self._round, scheduler) for _ in range(ROUNDS_AT_ONCE)]
        for one in rounds:
            one.result()
        self._begun = (began, time.time())

    def look(self, ended: int, counted: int) -> None:
        """Make the steps that are due when *ended* of the *counted* tasks of the census have ended."""
        if not self._published:
            if ended >= MOST_COUNTED * counted:
                self._publish()
        elif not self._down:
            self.seen = _trips()
            if self.seen or time.time() - self._published > TRIPS_WITHIN_S:
                self._down = time.time()
        elif time.time() - self._down > DOWN_S:
            self._services.repair()

    def rest(self) -> Ticking:
        """Pause the ticks, unless they are paused, and return the period in which they ran."""
        if self._ticking is None:
            before = time.time()
            tasks.app.schedules.pause(SCHEDULE)
            self._ticking = Ticking(*self._begun, before, time.time())
        return self._ticking

    def _round(self, function: str) -> None:
        try:
            answer = self._lambda.invoke(FunctionName=function)
        except (BotoCoreError, ClientError) as away:
            raise SchedulerError(f"the scheduler's function does not answer, because this machine is too busy: {away}") from away
        if "FunctionError" in answer:
            raise SchedulerError(f"the scheduler's function failed: {answer['Payload'].read().decode()}")

    def _publish(self) -> None:
        self._published = time.time()
        with tasks.app.batch():
            for task, count in ((tasks.look_up, LOOK_UPS), (tasks.store, STORES)):
                for number in range(count):
                    task.apply_async((number, self._services.port), task_id=call_id(task, number))


def _trips() -> list[Trip]:
    """Return the trip of the archive's circuit; an empty list: it has not tripped, or the store does not answer now."""
    try:
        (circuit,) = tasks.app.control.inspect().circuits()
    except Unavailable:
        return []
    return [Trip(circuit.since, circuit.until, circuit.cause)] if circuit.since else []


def call_id(task: Any, number: int) -> str:
    """Return the id of the call *number* of *task*."""
    return f"{task.name.rpartition('.')[2]}-{number}"


def expected_ids() -> Mapping[str, str]:
    """Return the names of the calls' tasks by id."""
    counts = ((tasks.look_up, LOOK_UPS), (tasks.store, STORES))
    return {call_id(task, number): task.name for task, count in counts for number in range(count)}
