"""Bytes and calls of a chain, a group and a chord, in one run: Celery over its SQS transport with its DynamoDB back end, and sedano."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping

from benchmarks.canvas import MOST_BYTES, chain_of, chord_of
from benchmarks.canvas_costs import Cost, add, cost_of
from benchmarks.report import Entry, Section, Target
from sedano import group
from sedano.canvas import Form

LINKS, MEMBERS, HEADER = 1_000, 1_000, 100
Numbers = Mapping[str, float]
UNITS = {"first": "bytes", "longest": "bytes", "sends": "sends", "writes": "writes"}
SAID = {"first": "first message", "longest": "longest message", "sends": "sends", "writes": "writes"}


def group_of(size: int) -> Form:
    """Return a group of *size* members."""
    return group(add.s(n, 1) for n in range(size))


def peers(links: int, members: int, header: int) -> tuple[Mapping[str, Numbers], str]:
    """Return the cost of each form with Celery, in its own process; nothing and the reason if Celery cannot run."""
    command = [sys.executable, "-m", "benchmarks.contenders.celery_canvas", str(links), str(members), str(header)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        return {}, f"Celery could not run here: {last}"
    found: Mapping[str, Numbers] = json.loads(done.stdout.strip().splitlines()[-1])
    return found, "Celery's own code over moto's SQS and DynamoDB, counted at botocore; it delivers at least once and writes no claim"


def ours(form: Callable[[int], Form], size: int) -> Numbers:
    """Return the cost of sedano for *form* of *size*, in batches of ten, with a claim and a record for each task."""
    cost, _ = cost_of([form(size)])
    return {"first": cost.first, "longest": cost.longest_body, "sends": cost.calls["send"], "writes": cost.writes, **_more(cost)}


def _more(cost: Cost) -> Numbers:
    return {"pages": cost.calls["put"], "page reads": cost.calls["get"], "history": cost.calls["send history"]}


def section(links: int = LINKS, members: int = MEMBERS, header: int = HEADER) -> Section:
    """Return the numbers for the report; the promised ones of sedano have targets."""
    theirs, how = peers(links, members, header)
    entries: list[Entry] = []
    for name, form, size in (("chain", chain_of, links), ("group", group_of, members), ("chord", chord_of, header)):
        found = ours(form, size)
        sends = Target((0.02 if name == "chain" else 1.01) * size)
        targets = {"first": Target(MOST_BYTES), "longest": Target(MOST_BYTES), "sends": sends, "writes": Target(3.02 * size)}
        more = {key: found[key] for key in ("pages", "page reads", "history")}
        for key, unit in UNITS.items():
            target = targets.get(key)
            entries.append(Entry(f"{SAID[key]}, {name} of {size}: sedano", found[key], unit, target, more if key == "sends" else {}))
            if name in theirs:
                entries.append(Entry(f"{SAID[key]}, {name} of {size}: Celery", theirs[name][key], unit))
    return Section("A canvas beside Celery's, on SQS and DynamoDB", how, entries)
