"""`make prove`: everything that `make test` plays a little of, played much of, on every core; the figures go to build/prove/summary.json.

    python -m tests.simulation.prove [--scale 0.01]

*scale* shrinks the number of schedules, blocks, histories and comparisons; the searches stay whole. A broken promise is told
as a story with the seed that repeats it, and the process ends with 1.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tests.simulation.baselines.gossip import Elected
from tests.simulation.baselines.locks import WAYS, LockWorld
from tests.simulation.campaign import Tally, campaign, story
from tests.simulation.claims import ClaimWorld
from tests.simulation.differential import compared_with_moto
from tests.simulation.elections import ElectionWorld
from tests.simulation.exhaustive.sizes import LARGE
from tests.simulation.leases import OVERLAPS, LeaseWorld
from tests.simulation.mutants import EQUIVALENT, every
from tests.simulation.sizes import RELEASE

SUMMARY = Path("build/prove/summary.json")
CHUNK = 500
WORLDS: Mapping[str, Any] = {"claims": ClaimWorld, "leases": LeaseWorld, "elections": ElectionWorld}
FIRST = 10_000_000
"""The first seed: these schedules are others than those of `make test`."""


def play_some(world: str, first: int, count: int) -> Tally:
    """Play *count* schedules from seed *first*."""
    return campaign(lambda seed, allowed: WORLDS[world](seed, allowed=allowed), range(first, first + count))


def proven(pool: Any, world: str, count: int) -> tuple[dict[str, Any], Tally]:
    """Play *count* schedules of *world* on all cores; return their figures and the tally."""
    began, whole = time.monotonic(), Tally()
    firsts = range(FIRST, FIRST + count, CHUNK)
    for tally in pool.imap_unordered(partial(play_some, world, count=CHUNK), firsts):
        whole.schedules += tally.schedules
        whole.seconds += tally.seconds
        whole.branches.update(tally.branches)
        whole.violations.update(tally.violations)
    took = time.monotonic() - began
    others = Counter({name: fired for name, fired in whole.branches.items() if name not in whole.faults})
    figures = {
        "schedules": whole.schedules, "simulated_hours": round(whole.seconds / 3600, 1), "times_real": round(whole.seconds / took),
        "seconds": round(took, 1), "faults": whole.faults, "branches": dict(others.most_common()), "violations": whole.violations,
    }  # fmt: skip
    return figures, whole


def searched(name: str) -> tuple[str, dict[str, Any]]:
    """Search one small world whole."""
    began = time.process_time()
    found = LARGE[name]()
    seconds = round(time.process_time() - began, 1)
    return name, {"states": found.states, "transitions": found.transitions, "cpu_seconds": seconds, "violation": found.violation}


def killed(name: str, blocks: int) -> tuple[str, int]:
    """Return in how many blocks of schedules a planted fault is caught."""
    ranges = (range(block * RELEASE.block, (block + 1) * RELEASE.block) for block in range(500, 500 + blocks))
    return name, sum(bool(campaign(every()[name], seeds, most=1).violations) for seeds in ranges)


def mutants(pool: Any, blocks: int) -> dict[str, Any]:
    """Return what became of the planted faults in so many blocks of schedules."""
    planted = [name for name in every() if name not in EQUIVALENT]
    caught = dict(pool.imap_unordered(partial(killed, blocks=blocks), planted))
    survivors = {name: times for name, times in caught.items() if times < blocks}
    return {
        "planted": len(planted), "blocks": blocks, "schedules_a_block": RELEASE.block,
        "killed_in_every_block": len(planted) - len(survivors), "survivors": survivors, "equivalent": dict(EQUIVALENT),
    }  # fmt: skip


def baselines() -> dict[str, Any]:
    """Return in how many schedules others break a promise."""
    locks = {name: len(campaign(lambda seed, _, way=way: LockWorld(seed, way), range(2_000)).violations) for name, way in WAYS.items()}
    twice = sum(Elected(seed, 3).run() > 1 for seed in range(2_000))
    never = sum(Elected(seed, 1).run() == 0 for seed in range(100))
    gossip = {"3 workers: more than one dispatch, of 2000": twice, "1 worker: no dispatch, of 100": never}
    return {"locks, schedules of 2000 with a violation": locks, "celery gossip": gossip}


def told(world: str, violations: Iterable[int]) -> None:
    """Tell the stories of the first broken promises."""
    for seed in list(violations)[:3]:
        print(story(lambda number, allowed: WORLDS[world](number, allowed=allowed), seed), flush=True)


def prove(scale: float) -> dict[str, Any]:
    """Do everything and return the summary."""
    sizes: dict[str, int] = {"claims": RELEASE.claims, "leases": RELEASE.leases, "elections": RELEASE.elections}
    summary: dict[str, Any] = {"scale": scale}
    with multiprocessing.get_context("spawn").Pool() as pool:
        summary["exhaustive"] = dict(_said("searches", lambda: list(pool.imap_unordered(searched, LARGE))))
        summary["mutants"] = _said("planted faults", lambda: mutants(pool, max(1, round(RELEASE.blocks * scale))))
        for world, size in sizes.items():
            count = CHUNK * math.ceil(size * scale / CHUNK)
            summary[world], tally = _said(f"{count} schedules of {world}", lambda world=world, count=count: proven(pool, world, count))
            told(world, tally.violations)
    summary["histories_checked"] = summary["leases"]["schedules"]
    summary["histories_that_overlap"] = summary["leases"]["branches"].get(OVERLAPS, 0)
    summary["baselines"] = _said("baselines", baselines)
    summary["differential_moto"] = _said("comparisons with moto", lambda: compared_with_moto(scale))
    return {**summary, "states": sum(found["states"] for found in summary["exhaustive"].values()), "broken": broken(summary)}


def broken(summary: Mapping[str, Any]) -> list[str]:
    """Return everything that speaks against the claim."""
    found = [f"{name}: {one['violation']}" for name, one in summary["exhaustive"].items() if one["violation"]]
    found += [f"{world} {seed}: {what}" for world in WORLDS for seed, what in summary[world]["violations"].items()]
    if summary["histories_that_overlap"] < RELEASE.histories * summary["scale"]:
        found.append(f"only {summary['histories_that_overlap']} histories of leases have operations that overlap")
    return found + [f"survives: {name}" for name in summary["mutants"]["survivors"]]


def _said(what: str, work: Callable[[], Any]) -> Any:
    began = time.monotonic()
    print(f"{what} …", end=" ", flush=True)
    done = work()
    print(f"{time.monotonic() - began:.0f} s", flush=True)
    return done


def main() -> int:
    """Prove, write the summary, and say what was found."""
    parser = argparse.ArgumentParser(description="Play, search and compare at release size.")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the release's schedules (default: all)")
    summary = prove(parser.parse_args().scale)
    SUMMARY.parent.mkdir(parents=True, exist_ok=True)
    SUMMARY.write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
    print(f"{len(summary['broken'])} violations; {SUMMARY}")
    print("\n".join(summary["broken"]))
    return 1 if summary["broken"] else 0


if __name__ == "__main__":
    sys.exit(main())
