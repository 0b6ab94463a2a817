"""Gates: a new one needs its class and one entry, and each of its answers has its effect on the message that it is about."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import pytest

from sedano import Retry, Sedano, testing
from sedano.engine.batch import Arguments, Batch, Held, Job, Judged, Later, Ran, Stillborn
from sedano.engine.gate import Gate
from sedano.engine.redelivery import hold_back
from sedano.engine.worker.admission import GateEntry
from sedano.engine.worker.gate_order import GATES
from sedano.engine.worker.pipeline import Worker
from sedano.engine.worker.settings import WorkerSettings
from sedano.model import refusals, states
from sedano.model.history.run_rows import Host
from sedano.ports import Delivery
from tests.stories.kitchen import deliver

END = Stillborn(states.FAILURE, refusals.KEY, "curfew", "after hours")


class Street:
    """An app with one task, and a worker whose list of gates has one more."""

    def __init__(self, *gates: Gate) -> None:
        self.app, self.ran = Sedano("street", retry=Retry(max_retries=0)), list[int]()
        self.walk: Any = self.app.task(name="walk")(self.ran.append)
        self.entries = [GateEntry(f"added {number}", lambda _: True, _handing(gate)) for number, gate in enumerate(gates)]

    def worked_off(self, world: testing.World, count: int = 3) -> list[Any]:
        """Publish *count* tasks, let the worker with the added gates work off one batch, and return their results."""
        settings = WorkerSettings(lanes=0)
        worker = Worker(self.app.registry, world.ports, Host("street.1.00000000", 1), settings, None, gates=(*GATES, *self.entries))
        with self.app.batch():
            results = [self.walk.delay(number) for number in range(count)]
        deliver(world, worker)
        return results


def _handing(gate: Gate) -> Callable[[object], Gate]:
    return lambda _: gate


def _number(job: Job) -> int:
    return int(job.command.args[0])


class Opened(Gate):
    """Ends the second when it was decoded."""

    def open(self, job: Job) -> Stillborn | None:
        return END if _number(job) == 1 else None


class Admitted(Gate):
    """Ends the second before its claim."""

    def admit(self, jobs: Sequence[Job], batch: Batch) -> Sequence[Job]:
        return [job._replace(stillborn=END) if _number(job) == 1 else job for job in jobs]


class Begun(Gate):
    """Ends the second right before its body."""

    def begin(self, job: Job, now: float, anew: Collection[str] | None) -> Stillborn | None:
        return END if _number(job) == 1 else None


@pytest.mark.parametrize("gate", [Opened(), Admitted(), Begun()], ids=lambda gate: type(gate).__name__)
def test_a_gate_ends_a_task_unrun_at_each_moment_at_which_it_is_asked_and_parks_its_message(gate: Gate) -> None:
    street = Street(gate)
    with testing.world(street.app) as world:
        results = street.worked_off(world)
        assert [result.state for result in results] == [states.SUCCESS, states.FAILURE, states.SUCCESS]
        assert [one.attributes["detail"] for one in world.parked()] == ["after hours"]
    assert street.ran == [0, 2]


class Sifting(Gate):
    """Holds the second back undecoded."""

    def sift(self, deliveries: Sequence[Delivery], batch: Batch) -> Sequence[Delivery]:
        batch.give_back(deliveries[1])
        return [deliveries[0], *deliveries[2:]]


class Holding(Gate):
    """Holds the second back before its claim."""

    def __init__(self) -> None:
        self.ports: Any = None

    def admit(self, jobs: Sequence[Job], batch: Batch) -> Sequence[Job]:
        hold_back(self.ports, next(job.delivery for job in jobs if _number(job) == 1), 60.0, batch)
        return [job for job in jobs if _number(job) != 1]


class Waiting(Gate):
    """Lets the second come later instead of beginning its body."""

    def begin(self, job: Job, now: float, anew: Collection[str] | None) -> Later | None:
        return Later("after hours", 60.0) if _number(job) == 1 else None


@pytest.mark.parametrize("gate", [Sifting(), Holding(), Waiting()], ids=lambda gate: type(gate).__name__)
def test_a_gate_holds_a_task_back_at_each_moment_and_it_runs_when_it_comes_again(gate: Any) -> None:
    street = Street(gate)
    with testing.world(street.app) as world:
        gate.ports = world.ports
        results = street.worked_off(world)
        assert street.ran == [0, 2]
        assert world.parked() == []
        world.drain()
        assert [result.state for result in results] == [states.SUCCESS] * 3
    assert street.ran == [0, 2, 1]


class Parking(Gate):
    """Parks the second, without a record."""

    def admit(self, jobs: Sequence[Job], batch: Batch) -> Sequence[Job]:
        for job in jobs:
            if _number(job) == 1:
                batch.park(job.delivery, refusals.KEY, "curfew", "no way")
        return [job for job in jobs if _number(job) != 1]


class Raising(Gate):
    """Raises what nobody foresaw when it is asked about the second."""

    def admit(self, jobs: Sequence[Job], batch: Batch) -> Sequence[Job]:
        if any(_number(job) == 1 for job in jobs):
            raise RuntimeError("the gate is stuck")
        return jobs


@pytest.mark.parametrize(("gate", "reason"), [(Parking(), refusals.KEY), (Raising(), "unexpected")])
def test_what_a_gate_parks_or_raises_costs_one_message_and_not_its_neighbours(gate: Gate, reason: str) -> None:
    street = Street(gate)
    with testing.world(street.app) as world:
        results = street.worked_off(world)
        assert [result.state for result in results] == [states.SUCCESS, states.PENDING, states.SUCCESS]
        assert [one.attributes["reason"] for one in world.parked()] == [reason]
    assert street.ran == [0, 2]


class Diary(Gate):
    """Writes down what it is asked and told."""

    def __init__(self, name: str, lines: list[str]) -> None:
        self.name, self.lines = name, lines

    def sift(self, deliveries: Sequence[Delivery], batch: Batch) -> Sequence[Delivery]:
        self.lines.append(f"{self.name} sift")
        return deliveries

    def open(self, job: Job) -> None:
        self.lines.append(f"{self.name} open")

    def admit(self, jobs: Sequence[Job], batch: Batch) -> Sequence[Job]:
        self.lines.append(f"{self.name} admit")
        return jobs

    def begin(self, job: Job, now: float, anew: Collection[str] | None) -> None:
        self.lines.append(f"{self.name} begin")

    def note(self, ran: Ran) -> None:
        self.lines.append(f"{self.name} note")

    def learn(self, ended: Sequence[Judged], ready: Sequence[tuple[Held, Arguments]], batch: Batch) -> None:
        self.lines.append(f"{self.name} learn")

    def release(self, batch: Batch) -> None:
        self.lines.append(f"{self.name} release")


def test_gates_are_asked_in_the_order_of_the_list_and_give_back_in_the_opposite_order() -> None:
    lines: list[str] = []
    street = Street(Diary("a", lines), Diary("b", lines))
    with testing.world(street.app) as world:
        street.worked_off(world, 1)
    moments = ("sift", "open", "admit", "begin", "note", "learn")
    asked = [f"{name} {moment}" for moment in moments for name in "ab"]
    assert lines[: len(asked)] == asked
    assert lines[len(asked) :][:2] == ["b release", "a release"]


def test_a_worker_of_a_plain_app_loads_only_the_gates_that_need_nothing() -> None:
    street = Street()
    worker = testing.World(street.app, 0, WorkerSettings(lanes=0)).worker
    assert list(worker._admission._gates) == ["expiry", "revocation", "poison"]


def test_each_gate_has_a_name_of_its_own() -> None:
    assert len({entry.name for entry in GATES}) == len(GATES)
