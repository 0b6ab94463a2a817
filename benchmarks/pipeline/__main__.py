"""`make bench-pipeline`: the pipeline's numbers, in turns with its peers on the same machine, into build/bench/pipeline.json.

    python -m benchmarks.pipeline --events 1000000 5000000 --rounds 5

The median of the rounds' ratios of CPU seconds is compared, because a busy machine slows all of them alike; the checksums of their results
must agree. Only `State` runs a single round, because it takes minutes and does not warm up. The file is written after each size, so a run
that is ended during a large size keeps the small ones; `--seconds` limits the time of a size's rounds.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.contest import ratio
from benchmarks.pipeline.generate import HUGE
from benchmarks.pipeline.turns import Plan, in_turns
from benchmarks.report import Entry, Section, Target
from sedano.model.states import PRECEDENCE, STATE_OF_CLASS, SUBJECTS

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "bench"
PEERS = ROOT / ".venv-bench" / "bin" / "python"
#: The variants of sedano; from `HUGE` events on only those with a target at that size, or a run would take an hour.
VARIANTS = ("full", "window", "narrow", "rebuild", "increment", "read", "gather", "land")
HUGE_VARIANTS = ("full",)
#: From this size on a job's fixed costs no longer matter.
LARGE = 4_500_000
#: Rounds warm up until so many events were processed, because the JVM compiles while it runs; then the least and the most rounds.
WARM_UP, LEAST_WARM, MOST_WARM = 6_000_000, 2, 12
STATE, SAME = "state", "same rows"
#: The variants that are reported as a rate in addition to the full pass.
RATES = {
    STATE: "Celery State", "duckdb": "DuckDB", "polars": "Polars", "read": "only reading",
    "gather": "only reading, and a shuffle", "land": "landing packed lines",
}  # fmt: skip
RATE = "full pass, events per CPU second"
SPEC = json.dumps({
    "classes": list(STATE_OF_CLASS), "states": dict(STATE_OF_CLASS), "precedence": list(PRECEDENCE), "subjects": dict(SUBJECTS),
})  # fmt: skip


class Contender:
    """A process that answers each line with one JSON line; its first line describes itself."""

    def __init__(self, *command: str) -> None:
        """Start it and wait until it is ready."""
        pipe, self._shown = subprocess.PIPE, " ".join(command[:5])
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env={**os.environ})
        line = self._process.stdout.readline() if self._process.stdout is not None else ""
        if not line:
            raise RuntimeError(f"{self._shown} did not start: run it by hand to see why")
        self.told: dict[str, Any] = json.loads(line)

    def sample(self, word: str) -> float:
        """Run one round of *word* and return its CPU seconds."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the contender has no pipes")
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._shown} ended during {word}, perhaps from lack of memory: run it by hand to see why")
        return float(json.loads(line)["cpu"])

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def measured(events: int, plan: Plan) -> Section:
    """Return the section of one size: all contenders in turns, according to *plan*."""
    _say(f"{events} events: writing them, unless they exist")
    spark = Contender(sys.executable, "-m", "benchmarks.pipeline.spark", str(events), str(BUILD / "events"))
    others = _peers(spark.told, events)
    asked = {name: partial(spark.sample, name) for name in (HUGE_VARIANTS if events >= HUGE else VARIANTS)}
    asked |= {name: partial(one.sample, "run") for name, one in others.items()}
    try:
        kept = in_turns(asked, plan, once={STATE}, tell=lambda line: _say(f"{events} events, {line}"))
    finally:
        for one in (spark, *others.values()):
            one.close()
    checksums = {name: one.told["checksum"] for name, one in others.items()}
    how = f"CPU of the whole process tree, {len(kept['full'])} rounds in turns after {plan.warm} to warm up, Parquet in, rows out"
    return Section(f"{spark.told['events']} events", how, _entries(spark.told, kept, checksums))


def _peers(told: Mapping[str, Any], events: int) -> dict[str, Contender]:
    """Start the peers with the place of the events from *told*."""
    program = str(Path(__file__).with_name("peers.py"))
    started = {} if events >= HUGE else {STATE: Contender(sys.executable, program, STATE, told["lines"], str(told["events"]))}
    if PEERS.exists():
        started |= {name: Contender(str(PEERS), program, name, told["parquet"], SPEC) for name in ("duckdb", "polars")}
    return started


def _entries(told: Mapping[str, Any], cpu: Mapping[str, Sequence[float]], checksums: Mapping[str, list[int]]) -> list[Entry]:
    """Return the entries for the CPU seconds of each contender."""
    events, full = told["events"], cpu["full"]
    entries = [Entry(RATE, events / statistics.median(full), "events/s")]
    for name, meaning in RATES.items():
        if name in cpu:
            many = {STATE: checksums.get(STATE, [0])[0], "land": told["landed"]}.get(name, events)
            entries.append(Entry(f"{meaning}, events per CPU second", many / statistics.median(cpu[name]), "events/s"))
    if STATE in cpu:
        each = cpu[STATE][0] / checksums[STATE][0]
        against = statistics.median(each * events / seconds for seconds in full)
        entries.append(Entry("full pass against State, events per CPU second", against, "x", _promised(15, events)))
    pairs = {
        "window": ("window formulation, CPU against the full pass", "window", "full", Target(1.3, "least")),
        "narrow": ("full pass, CPU against the narrow pass", "full", "narrow", Target(2, "least")),
        "merge": ("rebuild, CPU against a 5 % increment", "rebuild", "increment", _promised(8, events)),
        "duckdb": ("full pass, CPU against duckdb", "full", "duckdb", Target(1.0 if events >= HUGE else 1.5)),
        "polars": ("full pass, CPU against polars", "full", "polars", None),
    }
    same = told["same"] | {name: found == told["checksum"] for name, found in checksums.items() if name != STATE}
    for name, (meaning, ours, theirs, target) in pairs.items():
        if ours in cpu and theirs in cpu:
            more = {ours: statistics.median(cpu[ours]), theirs: statistics.median(cpu[theirs])}
            more |= {SAME: float(same[name])} if name in same else {}
            entries.append(Entry(meaning, ratio(cpu[ours], cpu[theirs]), "x", target, more))
    return entries


def _say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def _promised(least: float, events: int) -> Target | None:
    return Target(least, "least") if events >= LARGE else None


def _compared(least: Section, most: Section) -> Section:
    rate = ratio([most.entries[0].value], [least.entries[0].value])
    return Section("sizes", f"{most.title} against {least.title}", [Entry(RATE, rate, "x", Target(0.9, "least"))])


def main() -> int:
    """Measure every requested size; return 1 if the results of two contenders differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, nargs="+", default=[1_000_000, 5_000_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warm-up", type=int, help="rounds before those; by default until the JVM has compiled the hot code")
    parser.add_argument("--seconds", type=float, default=math.inf, help="the most seconds for the rounds of a size; at least one counts")
    options = parser.parse_args()
    began = time.monotonic()
    sections: list[Section] = []
    for events in sorted(options.events):
        warm = min(MOST_WARM, max(LEAST_WARM, -(-WARM_UP // events))) if options.warm_up is None else options.warm_up
        sections.append(measured(events, Plan(options.rounds, warm, options.seconds)))
        report.write(BUILD / "pipeline.json", sections, time.monotonic() - began)
    if len(sections) > 1:
        sections.append(_compared(sections[0], sections[-1]))
        report.write(BUILD / "pipeline.json", sections, time.monotonic() - began)
    print(report.table(sections))
    differing = [entry.name for section in sections for entry in section.entries if entry.more.get(SAME, 1) != 1]
    if differing:
        print(f"the rows differ: {', '.join(differing)}", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
