"""The pieces of work that `make prove` is cut into: each is done by one process, and what it found is a value that JSON can hold."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from random import Random
from typing import Any, NamedTuple

from tests.canvas.storm import CanvasWorld
from tests.deploy.fight.proof import fought
from tests.simulation import backlogs
from tests.simulation.baselines.gossip import Elected
from tests.simulation.baselines.locks import WAYS, LockWorld
from tests.simulation.campaign import FAULTS, Schedule, Stage, Tally, campaign
from tests.simulation.circuits import CircuitWorld
from tests.simulation.claims import ClaimWorld
from tests.simulation.collects import CollectWorld
from tests.simulation.controllers import ControllerWorld
from tests.simulation.differential import compared_with_ministack, compared_with_moto
from tests.simulation.effects import EffectWorld
from tests.simulation.elections import ElectionWorld, PausedElectionWorld
from tests.simulation.exhaustive.sizes import LARGE
from tests.simulation.extensions import ExtensionWorld
from tests.simulation.flows import FlowWorld
from tests.simulation.groups import GroupWorld
from tests.simulation.leases import LeaseWorld
from tests.simulation.limits import BoardWorld, LimitWorld, PermitWorld
from tests.simulation.members import MemberWorld
from tests.simulation.mutants import EQUIVALENT, every
from tests.simulation.outages import Broken, OutageWorld
from tests.simulation.partitions import PartitionWorld
from tests.simulation.revocations import RevocationWorld
from tests.simulation.schedules import ScheduleWorld
from tests.simulation.singletons import SingletonWorld
from tests.simulation.sizes import Sizes
from tests.simulation.topics import TopicWorld
from tests.stories import crowd
from tests.unit.cron_oracle import disagreements

WORLDS: Mapping[str, Callable[..., Schedule]] = {
    "claims": ClaimWorld, "leases": LeaseWorld, "elections": ElectionWorld, "revocations": RevocationWorld, "partitions": PartitionWorld,
    "singletons": SingletonWorld, "topics": TopicWorld, "members": MemberWorld, "flows": FlowWorld,
    "canvases": CanvasWorld, "limits": LimitWorld, "permits": PermitWorld, "boards": BoardWorld, "schedules": ScheduleWorld,
    "controllers": ControllerWorld, "circuits": CircuitWorld, "collected": CollectWorld,
    "paused-elections": PausedElectionWorld, "extensions": ExtensionWorld, "effects": EffectWorld, "groups": GroupWorld,
}  # fmt: skip
CHUNK = 1_000
FIRST = 10_000_000
"""The first seed: these schedules are others than those of `make test`."""
FIRST_BLOCK = 500
"""The first block of schedules for planted faults, which are others again."""
MOST_GOSSIP = 2_000
CROWD = 10_000
OUTAGES = 250
"""Schedules of outages in one piece."""
FAILED = "failed"


class Piece(NamedTuple):
    """One piece: the kind of *work* (a name in `WORK`) and what it is given."""

    work: str
    given: tuple[Any, ...]

    @property
    def key(self) -> str:
        """Its name in the notebook."""
        return " ".join(map(str, (self.work, *self.given)))


def pieces(sizes: Sizes, scale: float) -> list[Piece]:
    """Return everything that there is to do at *scale*, one kind beside the other, so that a run which is cut has done some of each."""
    faults = [name for name in every() if name not in EQUIVALENT]
    blocks = range(FIRST_BLOCK, FIRST_BLOCK + max(1, round(sizes.blocks * scale)))
    schedules = [chunks(world, max(1, round(sizes.schedules(world) * scale))) for world in WORLDS]
    kills = [Piece("kill", (name, block, sizes.block)) for block in blocks for name in faults]
    searches = [Piece("search", (name,)) for name in LARGE]
    fights = [Piece("fight", (max(10.0, 60.0 * min(1.0, scale)),))]
    compared = [comparisons(name, sizes, scale, parts) for name, parts in (("moto", 20), ("ministack", 4))]
    crowds = [Piece("crowd", (seed,)) for seed in range(1, 1 + max(1, round(sizes.crowds * scale)))]
    timetables = crons(max(1, round(sizes.crons * scale)))
    waiting = [Piece("backlog", (cause, min(1.0, scale))) for cause in backlogs.CAUSES]
    cut = [Piece("outage", (FIRST + first, min(OUTAGES, count - first))) for count in [max(1, round(sizes.outages * scale))]
        for first in range(0, count, OUTAGES)]
    return [*mixed([*schedules, kills, searches, fights, crowds, timetables, waiting, cut, *compared]), Piece("baselines", ())]


def chunks(world: str, count: int) -> list[Piece]:
    """Return *count* schedules of a *world* in pieces."""
    return [Piece("play", (world, FIRST + first, min(CHUNK, count - first))) for first in range(0, count, CHUNK)]


def comparisons(name: str, sizes: Sizes, scale: float, parts: int) -> list[Piece]:
    """Return the comparisons with the service *name* in so many *parts*."""
    expressions, sequences = max(10, round(sizes.expressions * scale / parts)), max(1, round(sizes.sequences * scale / parts))
    return [Piece(name, (FIRST + part * CHUNK * 10, expressions, sequences)) for part in range(parts)]


def crons(count: int) -> list[Piece]:
    """Return *count* pairs of cron expressions to compare in pieces."""
    return [Piece("cron", (FIRST + first, min(CHUNK, count - first))) for first in range(0, count, CHUNK)]


def mixed(kinds: Sequence[Sequence[Piece]]) -> list[Piece]:
    """Return the pieces of all *kinds*, each kind spread evenly over the whole."""
    placed = [((place + 0.5) / len(some), piece) for some in kinds for place, piece in enumerate(some)]
    return [piece for _, piece in sorted(placed, key=itemgetter(0))]


def stage(world: str) -> Stage:
    """Return what sets the stage of a *world*."""
    return lambda seed, allowed: WORLDS[world](seed, allowed=allowed)


def play(world: str, first: int, count: int) -> dict[str, Any]:
    """Play *count* schedules of *world* from seed *first*."""
    return told(campaign(stage(world), range(first, first + count)))


def told(tally: Tally) -> dict[str, Any]:
    """Return *tally* for the notebook."""
    others = {name: fired for name, fired in tally.branches.items() if name not in FAULTS}
    return {
        "schedules": tally.schedules, "seconds": tally.seconds, "faults": tally.faults, "branches": others,
        "violations": {str(seed): what for seed, what in tally.violations.items()},
    }  # fmt: skip


def search(name: str) -> dict[str, Any]:
    """Search one small world whole."""
    found = LARGE[name]()
    return {"states": found.states, "transitions": found.transitions, "violation": found.violation, "path": list(found.path)}


def kill(name: str, block: int, size: int) -> dict[str, Any]:
    """Look for a planted fault in one block of schedules: after how many it is caught, or None."""
    tally = campaign(every()[name], range(block * size, (block + 1) * size), most=1)
    return {"after": tally.schedules if tally.violations else None}


def gathered(seed: int) -> dict[str, Any]:
    """Play a chord of 10 000 members of which three in ten come twice, while one worker in ten is killed; return what is broken."""
    return {"members": CROWD, "broken": crowd.play(CROWD, seed).complaints()}


def compared_crons(seed: int, pairs: int) -> dict[str, Any]:
    """Compare so many pairs of expressions with cronsim and with a walk through the minutes; return where they differ."""
    return {"expressions": 2 * pairs, "broken": list(disagreements(Random(seed), pairs))}


def backlog(cause: str, scale: float) -> dict[str, Any]:
    """Let 200 000 messages times *scale* wait for *cause*; return what is broken."""
    try:
        world = backlogs.BacklogWorld(cause, scale=scale).run()
    except Broken as found:
        return {"messages": 0, "broken": [str(found)]}
    return {"messages": world.number, "most_in_flight": world.queues.peak, "broken": []}


def outage(seed: int, count: int) -> dict[str, Any]:
    """Play *count* schedules of outages from *seed*; return what is broken."""
    broken = []
    for one in range(seed, seed + count):
        try:
            OutageWorld(one).run()
        except Broken as found:
            broken.append(f"{one}: {found}")
    return {"schedules": count, "broken": broken}


def baselines() -> dict[str, Any]:
    """Return in how many schedules others break a promise."""
    some = range(MOST_GOSSIP)
    locks = {name: len(campaign(lambda seed, _, way=way: LockWorld(seed, way), some).violations) for name, way in WAYS.items()}
    twice = sum(Elected(seed, 3).run() > 1 for seed in some)
    never = sum(Elected(seed, 1).run() == 0 for seed in range(100))
    gossip = {f"3 workers: more than one dispatch, of {MOST_GOSSIP}": twice, "1 worker: no dispatch, of 100": never}
    return {f"locks, schedules of {MOST_GOSSIP} with a violation": locks, "celery gossip": gossip}


WORK: Mapping[str, Callable[..., dict[str, Any]]] = {
    "search": search, "kill": kill, "baselines": baselines, "play": play, "moto": compared_with_moto, "ministack": compared_with_ministack,
    "fight": fought, "crowd": gathered, "cron": compared_crons, "backlog": backlog, "outage": outage,
}  # fmt: skip


def done(piece: Piece) -> tuple[Piece, dict[str, Any]]:
    """Do *piece* and return what it found, with the CPU seconds that it took; of what could not be done, why (`FAILED`)."""
    began = time.process_time()
    try:
        found = WORK[piece.work](*piece.given)
    except Exception as wrong:  # noqa: BLE001 - whatever goes wrong in one piece, the others are still worth something
        found = {FAILED: f"{type(wrong).__name__}: {wrong}"}
    return piece, {**found, "cpu": round(time.process_time() - began, 3)}


def of(known: Mapping[str, Any], wanted: Sequence[Piece], work: str) -> list[tuple[Piece, dict[str, Any]]]:
    """Return what the pieces of one kind of *work* have found so far."""
    return [(piece, known[piece.key]) for piece in wanted if piece.work == work and piece.key in known]
