"""The invariants of time and flow: each tick ran once, calls kept to their rate, a circuit protected the failed service. Pure.

| source | contents |
|---|---|
| the timetable, evaluated here | which ticks must have run |
| the ledger | which ran, and which were withdrawn |
| the services that were called | when, and whether they served |
| the event history | which tasks got a slot, when the circuit tripped, which tasks waited for it |
| the circuit itself | when it tripped: a worker that is killed between opening it and sending its events reports nothing |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from examples.census import tasks
from examples.census.history import Line
from examples.census.services import ARCHIVE, INDEX, Call
from sedano.model import states
from sedano.model.limits.rate import SECOND
from sedano.model.limits.task_limits import Slot, kept
from sedano.model.schedules.schedule import AHEAD_S, occurrence
from sedano.model.schedules.timetable import between

SCHEDULE = "tick"
HELD, TRIPPED = "task-held", "circuit-tripped"
BY_RATE, BY_CIRCUIT = "rate limit", "circuit"
SAME_TRIP_S = 0.01
"""The seconds by which the moment of one trip may differ in the history and in the circuit's own text, which is rounded."""
UNDERWAY_S = 3.0
"""The seconds within which calls end of workers that had begun their batch when the circuit tripped."""
Ledger = Mapping[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Ticking:
    """The ticks began between the first two moments, and were paused between the last two (epoch s)."""

    began: float
    begun: float
    resting: float
    rested: float


@dataclass(frozen=True, slots=True)
class Trip:
    """One trip of the circuit: the period in which it was open (epoch s), and the cause."""

    since: float
    until: float
    cause: str


@dataclass(frozen=True, slots=True)
class FlowEvidence:
    """The evidence: *ticks* that ran and that were *withdrawn*, by id; the *calls*; the *lines* of the history about them; the trips that
    were *seen* in the circuit while it was open.
    """

    ticks: Mapping[str, int]
    withdrawn: Mapping[str, int]
    calls: Sequence[Call]
    lines: Sequence[Line]
    stores: int
    seen: Sequence[Trip] = ()

    def of(self, service: str) -> list[Call]:
        """Return the calls of *service* in the order of their arrival."""
        return sorted((call for call in self.calls if call.service == service), key=lambda call: call.at)

    def held(self, why: str) -> Counter[str]:
        """Return how often each task was held back for a reason that begins with *why*."""
        return Counter(line["uuid"] for line in self.lines if line["type"] == HELD and line["reason"].startswith(why))

    @property
    def met(self) -> Ledger:
        """The withdrawn ticks whose messages arrived before the end of the run: workers acknowledged and reported them."""
        told = {line.get("uuid") for line in self.lines if line["type"].startswith("task-")}
        return {task: (tasks.tick.name, states.REVOKED) for task in self.withdrawn if task in told}

    @property
    def trips(self) -> list[Trip]:
        """The trips of the archive's circuit, in order: those in the history, and those that were only seen."""
        told = [Trip(line["timestamp"], line["until"], line["cause"]) for line in self.lines if line["type"] == TRIPPED]
        only_seen = [trip for trip in self.seen if all(abs(trip.since - other.since) > SAME_TRIP_S for other in told)]
        return sorted([*told, *only_seen], key=lambda trip: trip.since)


@dataclass(frozen=True, slots=True)
class FlowFindings:
    """The results of the checks.

    *busiest*: the most calls of the index in one second; *too_many*: the most by which a period exceeded the allowed calls; *used*: the
    used share of the allowed rate; *slotted*: tasks that were given a slot; *refused*: calls that the archive did not serve; *unspared*:
    calls while its circuit was open; *waited*: tasks that waited for it; *unstored*: items that never arrived.
    """

    ticks: int
    withdrawn: int
    look_ups: int
    busiest: int
    too_many: int
    used: float
    slotted: int
    trips: int
    refused: int
    unspared: int
    waited: int
    unstored: int


def due(ticking: Ticking) -> dict[str, int]:
    """Return the moments of the ticks that must have run, by task id."""
    return _ids(ticking.begun, ticking.resting)


def ticks_of(ticking: Ticking, ledger: Ledger) -> dict[str, int]:
    """Return the ticks that must have run, and those that ran although they were due while the ticks began or were paused."""
    may = {**_ids(int(ticking.began), ticking.begun), **_ids(ticking.resting, ticking.rested)}
    ran = {task: moment for task, moment in may.items() if ledger.get(task, ("", states.REVOKED))[1] != states.REVOKED}
    return {**due(ticking), **ran}


def withdrawn_of(ticking: Ticking, ledger: Ledger) -> dict[str, int]:
    """Return the ticks that were published ahead and ended as revoked when the ticks were paused."""
    ahead = _ids(ticking.resting, ticking.rested + AHEAD_S)
    return {task: moment for task, moment in ahead.items() if ledger.get(task, ("", ""))[1] == states.REVOKED}


def _ids(after: float, until: float) -> dict[str, int]:
    schedule = tasks.app.periodics[SCHEDULE].schedule
    return {occurrence(schedule, moment).task_id: moment for moment in between(schedule.timetable, after, until)}


def flow_findings(evidence: FlowEvidence) -> FlowFindings:
    """Return the results of the checks of *evidence*."""
    starts = [call.at for call in evidence.of(INDEX)]
    archive = evidence.of(ARCHIVE)
    slotted = evidence.held(BY_RATE)
    span = starts[-1] - starts[0] if starts else 0.0
    spared = [call for trip in evidence.trips for call in archive if trip.since + UNDERWAY_S < call.at < trip.until]
    return FlowFindings(
        ticks=len(evidence.ticks),
        withdrawn=len(evidence.withdrawn),
        look_ups=len(starts),
        busiest=max((sum(at <= other < at + 1 for other in starts) for at in starts), default=0),
        too_many=most_beyond(starts, max(slotted.values(), default=1) - 1),
        used=min(1.0, (len(starts) - 1) / tasks.CALLS_A_SECOND / span) if span else 1.0,
        slotted=len(slotted),
        trips=len(evidence.trips),
        refused=sum(not call.served for call in archive),
        unspared=len(spared),
        waited=len(evidence.held(BY_CIRCUIT)),
        unstored=evidence.stores - len({call.number for call in archive if call.served}),
    )


def most_beyond(starts: Sequence[float], missed: int) -> int:
    """Return the most calls by which a period exceeded the allowed number; 0 or less: none did.

    A slot is kept for some time, which grows with the number of slots that its task has *missed*; a call that is late in its slot counts
    there.
    """
    patience = kept(Slot(0, missed, "")) / SECOND
    stretches = ((last - first + 1, starts[last] - starts[first]) for first, last in combinations(range(len(starts)), 2))
    return max((count - int(tasks.CALLS_A_SECOND * (seconds + patience) + 1) for count, seconds in stretches), default=0)


def flow_complaints(found: FlowFindings) -> list[str]:
    """Return the broken promises in words; an empty list if there are none."""
    wrong = {
        "no tick ran, so this run proves nothing about periodic tasks": not found.ticks,
        f"within some period the index was called {found.too_many} times more than its rate allows": found.too_many > 0,
        "the archive was down and its circuit did not trip": not found.trips,
        f"the archive was called {found.unspared} times while its circuit was open": found.unspared,
        f"{found.unstored} items never arrived at the archive": found.unstored,
    }
    return [words for words, is_wrong in wrong.items() if is_wrong]
