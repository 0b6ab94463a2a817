"""A task's whole life, defined once and played under every host that runs tasks: a world in memory, Lambda, and `sedano worker`.

A *life* publishes through the app of `tests.stories.life_tasks`, lets its host work, and asserts what is recorded in the end and how often
each body began. A *host* is what runs the bodies: nothing in a life depends on which one it is.
"""

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sedano import chord, testing
from sedano.aws.settings import command_addresses
from sedano.engine.worker.settings import WorkerSettings
from sedano.errors import RemoteError
from sedano.model import states
from sedano.ports import PARKED, Delivery, Ports
from sedano.testing.crash_points import Died
from tests.functions.conftest import Functions
from tests.stories import life_tasks
from tests.stories.life_tasks import add, fails, flaky, kills, stays, total
from tests.stories.worked_project import SECONDS, WorkedProject, WorkerRun
from tests.waiting import until

LATER_S = 2.0


class LifeHost(ABC):
    """Runs the tasks of the app. *ports* are those through which a life looks at its stage; *notes* is the file of the bodies."""

    ports: Ports

    def __init__(self, folder: Path) -> None:
        """Keep files in *folder*."""
        self.notes, self.go = folder / "noted", folder / "done"
        self.notes.touch()

    @abstractmethod
    def work(self, reached: Callable[[], bool]) -> None:
        """Let tasks run until *reached* holds."""

    @abstractmethod
    def cut(self) -> None:
        """Take the body of `stays` from the worker that runs it, so that another one runs it to its end. The call is published already."""

    @abstractmethod
    def now(self) -> float:
        """Return the time of the host (epoch s)."""

    def close(self) -> None:
        """End it."""
        life_tasks.interrupt.clear()
        life_tasks.app.attach(None)

    def state(self, result: Any) -> str:
        """Return the recorded state of a task."""
        found = self.ports.ledger.read([result.id]).get(result.id)
        return str(found.state) if found is not None else "NONE"

    def ended(self, result: Any) -> str:
        """Let the host work until the task has ended, and return the state in which it did."""
        self.work(lambda: self.state(result) in states.TERMINAL)
        return self.state(result)

    def bodies(self) -> Counter[str]:
        """Return how often each body began."""
        return Counter(self.notes.read_text().splitlines())


class InMemory(LifeHost):
    """The world of users' tests, on virtual time; claims are extended as in a process, so that one can be let go of."""

    VISIBILITY_S = 30.0

    def __init__(self, folder: Path) -> None:
        """Begin one."""
        super().__init__(folder)
        own = WorkerSettings(poison_after=life_tasks.POISON_AFTER, lanes=0, visibility=self.VISIBILITY_S)
        self._block = testing.world(life_tasks.app, settings=own)
        self._world = self._block.__enter__()
        self.ports = self._world.ports

    def work(self, reached: Callable[[], bool]) -> None:
        """Let virtual time pass."""
        for _ in range(1_000):
            if reached():
                return
            self._world.elapse(1.0)
        raise AssertionError("the task has not ended")

    def cut(self) -> None:
        """Let go of the claim while the body runs, as a process does at the end of its drain."""

        def ends() -> None:
            self._world.worker.cut()
            self.go.touch()

        life_tasks.interrupt.append(ends)

    def now(self) -> float:
        """The virtual time."""
        return self.ports.clock.now()

    def close(self) -> None:
        """End the world."""
        self._block.__exit__(None, None, None)
        super().close()


class OnLambda(LifeHost):
    """The handlers of the functions, fed with the events of their queues as Lambda's event source mappings do."""

    VISIBILITY_S = 1
    INVOCATION_S = 3.0

    def __init__(self, folder: Path, functions: Functions, ports: Ports) -> None:
        """Feed *functions*; *ports* are of the same stage."""
        super().__init__(folder)
        self._functions, self.ports, self._is_cutting = functions, ports, False
        self._url = command_addresses(functions.resources.settings)["default"]
        functions.sqs.set_queue_attributes(QueueUrl=self._url, Attributes={"VisibilityTimeout": str(self.VISIBILITY_S)})

    def work(self, reached: Callable[[], bool]) -> None:
        """Invoke the worker for each batch of its queue; one that dies is replaced by a cold one."""
        end = time.monotonic() + SECONDS
        while not reached():
            assert time.monotonic() < end
            event = self._functions.event(self._url)
            if not event["Records"]:
                time.sleep(0.02)
                continue
            try:
                back = self._functions.run("worker", event, self.INVOCATION_S)
            except Died:
                self._functions.restart()
                continue
            if self._is_cutting and self.bodies()["stays"]:
                self.go.touch()
            for record in event["Records"]:
                if record["messageId"] not in back:
                    self._functions.sqs.delete_message(QueueUrl=self._url, ReceiptHandle=record["receiptHandle"])

    def cut(self) -> None:
        """Let the first invocation run out of time; the body may end in the next one."""
        self._is_cutting = True

    def now(self) -> float:
        """The machine's time."""
        return time.time()


class AsProcesses(LifeHost):
    """`sedano worker --processes` as real processes, over one SQLite file or a stage of the local endpoint."""

    OPTIONS = ("--processes", "2", "-c", "2", "--drain", "1", "--visibility", "6")

    def __init__(self, folder: Path, project: WorkedProject, start: Callable[..., WorkerRun]) -> None:
        """Start the worker by *start*, with its options."""
        super().__init__(folder)
        self._project, self._start = project, start
        self.ports = project.ports
        life_tasks.app.attach(self.ports)
        self._run = start(*self.OPTIONS)

    def work(self, reached: Callable[[], bool]) -> None:
        """Wait: the processes work."""
        until(reached)

    def cut(self) -> None:
        """End the worker when the body runs, then let the body of another one end."""
        until(lambda: self.bodies()["stays"] == 1)
        assert self._run.end() == 0
        self.go.touch()
        self._run = self._start(*self.OPTIONS)

    def now(self) -> float:
        """The machine's time."""
        return time.time()

    def close(self) -> None:
        """Kill what still runs."""
        super().close()
        self._project.close()


def _success(host: LifeHost) -> None:
    result = add.delay(str(host.notes), 2, 3)
    assert host.ended(result) == states.SUCCESS
    assert result.get(timeout=1) == 5
    assert host.ports.ledger.read([result.id])[result.id].fence == 1
    assert host.bodies() == {"add": 1}


def _retry(host: LifeHost) -> None:
    result = flaky.delay(str(host.notes))
    assert host.ended(result) == states.SUCCESS
    assert result.get(timeout=1) == "done"
    assert host.bodies() == {"flaky": 3}


def _failure(host: LifeHost) -> None:
    result = fails.delay(str(host.notes))
    assert host.ended(result) == states.FAILURE
    with pytest.raises(RemoteError, match="for good"):
        result.get(timeout=1)
    assert host.bodies() == {"fails": 1}


def _revoked(host: LifeHost) -> None:
    result = add.apply_async((str(host.notes), 2, 3), countdown=LATER_S)
    result.revoke()
    assert host.ended(result) == states.REVOKED
    after = add.apply_async((str(host.notes), 1, 1), countdown=LATER_S)
    assert host.ended(after) == states.SUCCESS
    assert host.bodies() == {"add": 1}, "the revoked one has not begun"


def _expired(host: LifeHost) -> None:
    result = add.apply_async((str(host.notes), 2, 3), expires=-1.0)
    assert host.ended(result) == states.EXPIRED
    assert host.bodies() == {}


def _chord(host: LifeHost) -> None:
    notes = str(host.notes)
    result = chord([add.s(notes, 1, 1), add.s(notes, 2, 2), add.s(notes, 3, 3)])(total.s(notes))
    assert host.ended(result) == states.SUCCESS
    assert result.get(timeout=1) == 12
    assert host.bodies() == {"add": 3, "total": 1}


def _later(host: LifeHost) -> None:
    before = host.now()
    result = add.apply_async((str(host.notes), 2, 3), countdown=LATER_S)
    assert host.ended(result) == states.SUCCESS
    assert host.now() >= before + LATER_S
    assert host.bodies() == {"add": 1}


def _poison(host: LifeHost) -> None:
    result, other = kills.delay(str(host.notes)), add.delay(str(host.notes), 2, 3)
    assert host.ended(result) == states.POISON
    assert host.ended(other) == states.SUCCESS
    assert host.bodies()["kills"] == life_tasks.POISON_AFTER
    parked: list[Delivery] = []

    def is_parked() -> bool:
        parked.extend(host.ports.queues.receive(PARKED))
        return bool(parked)

    host.work(is_parked)
    assert [one.attributes["reason"] for one in parked] == ["poison"]


def _cut(host: LifeHost) -> None:
    result = stays.delay(str(host.notes), str(host.go))
    host.cut()
    assert host.ended(result) == states.SUCCESS
    assert result.get(timeout=1) == "done"
    assert host.ports.ledger.read([result.id])[result.id].fence == 2
    assert host.bodies() == {"stays": 2}


LIVES: dict[str, Callable[[LifeHost], None]] = {
    "success": _success, "retry": _retry, "failure": _failure, "revoke": _revoked, "expire": _expired, "chord": _chord, "later": _later,
    "poison": _poison, "cut": _cut,
}  # fmt: skip
"""The lives by name; each asserts what is recorded, and how often each body began."""
