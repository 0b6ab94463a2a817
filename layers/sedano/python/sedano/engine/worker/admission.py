"""Admission: calls the gates of a worker (`sedano.engine.gate`) in their order, at each moment of a batch's life.

Most apps need few gates. A gate is loaded when the worker is built, if the app declares its subject, so no message waits for it; otherwise
with the first message that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from sedano.engine.batch import Arguments, Batch, Held, Job, Judged, Ran
from sedano.engine.cluster.membership import Membership
from sedano.engine.gate import Gate
from sedano.engine.parked.parking import ParkingLot
from sedano.engine.registry import Registry
from sedano.engine.unexpected_errors import passing
from sedano.engine.worker.redelivery_credit import Spared
from sedano.model.cluster.control_record import ControlRecord
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import NOTHING, Command
from sedano.model.tasks.task_spec import TaskSpec
from sedano.ports import Delivery, Ports


class Workplace(NamedTuple):
    """The parts of a worker that its gates may use.

    *name*: the worker's; *lanes*: `def` bodies that it runs at once; *arguments* fetches those of a command; *poison_after*: receives of an
    unclaimed message that end without a record; *spared*: receives that do not count for that.
    """

    registry: Registry
    ports: Ports
    lamport: LamportClock
    name: str
    lanes: int
    arguments: Callable[[Command], Arguments]
    membership: Membership
    parking: ParkingLot
    spared: Spared
    poison_after: int


class Occasion(NamedTuple):
    """The facts that decide whether a gate is needed: *deliveries* or *tasks*, and the *limits* that were changed at run time."""

    registry: Registry
    control: ControlRecord
    deliveries: Sequence[Delivery] = ()
    tasks: Collection[TaskSpec] = ()
    limits: Mapping[str, str] = NOTHING


class GateEntry(NamedTuple):
    """One gate of the list: its *name*, whether it is *wanted* on an occasion, and how it is loaded."""

    name: str
    wanted: Callable[[Occasion], bool]
    load: Callable[[Workplace], Gate]


class Admission:
    """Calls the gates of one worker.

    *opening*, *beginning* and *noting* are the gates with a method for these moments. They are called for each job, so the caller iterates
    over them itself.
    """

    def __init__(self, entries: Sequence[GateEntry], here: Workplace) -> None:
        """Keep the gates of *entries* at *here*, in this order; load those that the app's tasks need."""
        self._entries, self._here = entries, here
        self._absent = list(entries)
        self._gates: dict[str, Gate] = {}
        self._meet(tasks=here.registry.tasks.values())

    def gate(self, name: str) -> Gate:
        """Return the gate *name*; load it if no occasion has needed it so far."""
        if name not in self._gates:
            self._put(name, next(entry for entry in self._entries if entry.name == name).load(self._here))
        return self._gates[name]

    def sift(self, deliveries: Sequence[Delivery], batch: Batch) -> list[Delivery]:
        """Return those of *deliveries* that are to be decoded; a gate that raises lets all pass."""
        self._meet(deliveries=deliveries, limits=batch.limits)
        telemetry = self._here.ports.telemetry
        for gate in self._sifting:
            deliveries = passing(telemetry, "sift", partial(gate.sift, deliveries, batch), deliveries)
            if batch.decided:
                deliveries = [one for one in deliveries if not batch.is_decided(one)]
        return list(deliveries)

    def turns(self, deliveries: Sequence[Delivery], jobs: Sequence[Job], batch: Batch) -> Iterator[list[Job]] | None:
        """Return which of *jobs* go together, turn after turn; None if no gate keeps an order among *deliveries*."""
        for gate in self._turning:
            turns = gate.turns(deliveries, jobs, batch)
            if turns is not None:
                return turns
        return None

    def admit(self, jobs: Sequence[Job], batch: Batch) -> Sequence[Job]:
        """Return those of *jobs* that continue, including those that must end unrun; the others are decided in *batch*."""
        self._meet(tasks={job.task.name: job.task for job in jobs}.values(), limits=batch.limits)
        for gate in self._admitting:
            jobs = gate.admit(jobs, batch)
        return jobs

    def meet_anew(self) -> None:
        """Load the gates that the newly read control record requires."""
        self._meet()

    def note(self, ran: Ran) -> None:
        """Pass the result of *ran* to the gates before the next body of the batch begins."""
        for gate in self.noting:
            gate.note(ran)

    def learn(self, ended: Sequence[Judged], ready: Sequence[tuple[Held, Arguments]], batch: Batch) -> None:
        """Pass the jobs that *ended* to the gates; *ready*: those whose bodies were to run."""
        if self._here.registry.checks:
            self._meet()  # a body may have reported to a health check, which its circuits learn
        for gate in self._learning:
            passing(self._here.ports.telemetry, "learn", partial(gate.learn, ended, ready, batch), None)

    def release(self, batch: Batch) -> None:
        """Release the resources that the gates took for the admitted jobs, the latest first."""
        for gate in reversed(self._releasing):
            gate.release(batch)

    def _meet(
        self, deliveries: Sequence[Delivery] = (), tasks: Collection[TaskSpec] = (), limits: Mapping[str, str] = NOTHING
    ) -> None:  # fmt: skip
        """Load the gates that these deliveries, tasks or limits require."""
        here = self._here
        occasion = Occasion(here.registry, here.membership.control, deliveries, tasks, limits)
        for entry in self._absent:
            if entry.wanted(occasion):
                self._put(entry.name, entry.load(here))

    def _put(self, name: str, gate: Gate) -> None:
        """Put *gate* at the place of *name*, and note at which moments each gate is called."""
        self._gates[name] = gate
        self._absent = [entry for entry in self._entries if entry.name not in self._gates]
        self._sifting, self.opening, self._turning = self._asked_at("sift"), self._asked_at("open"), self._asked_at("turns")
        self._admitting, self.beginning, self.noting = self._asked_at("admit"), self._asked_at("begin"), self._asked_at("note")
        self._learning, self._releasing = self._asked_at("learn"), self._asked_at("release")

    def _asked_at(self, moment: str) -> list[Gate]:
        """Return the gates that override *moment*, in their order."""
        standing = [self._gates[entry.name] for entry in self._entries if entry.name in self._gates]
        return [gate for gate in standing if getattr(type(gate), moment) is not getattr(Gate, moment)]
