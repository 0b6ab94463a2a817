"""The sums of a proof: what the pieces that are done have found together, whole or not yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tests.simulation.leases import OVERLAPS
from tests.simulation.mutants import EQUIVALENT
from tests.simulation.pieces import WORLDS, Piece, of

HOUR_S = 3_600


def summed(known: Mapping[str, Any], wanted: Sequence[Piece], wall: float) -> dict[str, Any]:
    """Return the summary of the *wanted* pieces as far as they are *known*, after *wall* seconds."""
    worlds = {world: _world(known, wanted, world) for world in WORLDS}
    searched = {piece.given[0]: found for piece, found in of(known, wanted, "search")}
    hours = sum(one["simulated_hours"] for one in worlds.values())
    playing = sum(one["cpu_seconds"] for one in worlds.values())
    found = {
        "complete": all(piece.key in known for piece in wanted), "seconds": round(wall),
        "cpu_seconds": round(sum(known[piece.key]["cpu"] for piece in wanted if piece.key in known)),
        "schedules": sum(one["schedules"] for one in worlds.values()), "simulated_hours": round(hours),
        "times_real_of_a_core": round(hours * HOUR_S / playing) if playing else 0, "worlds": worlds,
        "states": sum(one["states"] for one in searched.values()), "searches": searched, "planted_faults": _faults(known, wanted),
        "histories_checked": worlds["leases"]["schedules"], "histories_that_overlap": worlds["leases"]["branches"].get(OVERLAPS, 0),
        "baselines": _only(known, wanted, "baselines"), "compared_with_moto": _agreed(known, wanted, "moto"),
        "compared_with_ministack": _agreed(known, wanted, "ministack"),
        "fight": _only(known, wanted, "fight"),
        "chords": {str(piece.given[0]): found for piece, found in of(known, wanted, "crowd")},
        "cron": _crons([one for _, one in of(known, wanted, "cron")]),
        "backlogs": {piece.given[0]: found for piece, found in of(known, wanted, "backlog")},
        "outages": _outages([one for _, one in of(known, wanted, "outage")]),
    }  # fmt: skip
    return {**found, "broken": broken(found)}


def broken(summary: Mapping[str, Any]) -> list[str]:
    """Return everything that speaks against the claim."""
    found = [f"{name}: {one['violation']}" for name, one in summary["searches"].items() if one["violation"]]
    found += [f"{world} {seed}: {what}" for world, one in summary["worlds"].items() for seed, what in one["violations"].items()]
    found += (summary["fight"] or {"broken": []})["broken"]
    found += [f"chord {seed}: {what}" for seed, one in summary["chords"].items() for what in one["broken"]]
    found += [f"cron: {what}" for what in summary["cron"]["broken"]]
    found += [f"backlog {cause}: {what}" for cause, one in summary["backlogs"].items() for what in one["broken"]]
    found += [f"outages {what}" for what in summary["outages"]["broken"]]
    return found + [f"survives {times} blocks: {name}" for name, times in summary["planted_faults"]["survivors"].items()]


def _world(known: Mapping[str, Any], wanted: Sequence[Piece], world: str) -> dict[str, Any]:
    faults: Counter[str] = Counter()
    branches: Counter[str] = Counter()
    violations: dict[str, str] = {}
    schedules, seconds, cpu = 0, 0.0, 0.0
    for _, found in [(piece, found) for piece, found in of(known, wanted, "play") if piece.given[0] == world]:
        schedules, seconds, cpu = schedules + found["schedules"], seconds + found["seconds"], cpu + found["cpu"]
        faults.update(found["faults"])
        branches.update(found["branches"])
        violations.update(found["violations"])
    return {
        "schedules": schedules, "simulated_hours": round(seconds / HOUR_S, 1), "cpu_seconds": round(cpu, 1),
        "faults": dict(faults.most_common()), "branches": dict(branches.most_common()), "violations": violations,
    }  # fmt: skip


def _faults(known: Mapping[str, Any], wanted: Sequence[Piece]) -> dict[str, Any]:
    """Return how many planted faults were caught in every block that was played for them, and who was not."""
    found = of(known, wanted, "kill")
    missed = Counter(piece.given[0] for piece, one in found if one["after"] is None)
    planted = {piece.given[0] for piece in wanted if piece.work == "kill"}
    played = Counter(piece.given[0] for piece, _ in found)
    needed = [one["after"] for _, one in found if one["after"] is not None]
    return {
        "planted": len(planted), "blocks_played": min((played[name] for name in planted), default=0),
        "schedules_a_block": max((piece.given[2] for piece, _ in found), default=0),
        "killed_in_every_block": sum(1 for name in played if name not in missed),
        "schedules_needed": {"mean": round(sum(needed) / len(needed), 1), "most": max(needed)} if needed else {},
        "survivors": dict(missed), "equivalent": dict(EQUIVALENT),
    }  # fmt: skip


def _crons(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how many cron expressions came to the same as elsewhere, and which did not."""
    return {"expressions": sum(one["expressions"] for one in found), "broken": [what for one in found for what in one["broken"]]}


def _outages(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how many schedules of outages were played, and which broke a promise."""
    return {"schedules": sum(one["schedules"] for one in found), "broken": [what for one in found for what in one["broken"]]}


def _agreed(known: Mapping[str, Any], wanted: Sequence[Piece], name: str) -> dict[str, int]:
    """Return how many expressions and sequences came to the same as on the service *name*."""
    found = [one for _, one in of(known, wanted, name)]
    return {what: sum(one[what] for one in found) for what in ("expressions", "sequences")}


def _only(known: Mapping[str, Any], wanted: Sequence[Piece], work: str) -> dict[str, Any] | None:
    return next((found for _, found in of(known, wanted, work)), None)
