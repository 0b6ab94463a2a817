"""`make bench-pipeline`: the pipeline's numbers, in turns with its peers on the same machine, into build/bench/pipeline.json.

    python -m benchmarks.pipeline --events 1000000 5000000 --rounds 5

What is compared is the median of the rounds' ratios of CPU seconds, because a busy machine slows all of them alike; the checksums of what
they made must agree. The first two rounds only warm up.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.contest import ratio
from benchmarks.report import Entry, Section, Target
from sedano.model.states import PRECEDENCE, STATE_OF_CLASS, SUBJECTS

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "bench"
PEERS = ROOT / ".venv-bench" / "bin" / "python"
VARIANTS = ("full", "window", "narrow", "rebuild", "increment")
WARM_UP = 2
#: From this size on a job's fixed costs no longer matter.
LARGE = 4_500_000
RATE = "full pass, events per CPU second"
SPEC = json.dumps({
    "classes": list(STATE_OF_CLASS), "states": dict(STATE_OF_CLASS), "precedence": list(PRECEDENCE), "subjects": dict(SUBJECTS),
})  # fmt: skip


class Contender:
    """A process that answers each line with one JSON line; the first one tells of itself."""

    def __init__(self, *command: str) -> None:
        """Start it and wait until it is ready."""
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env={**os.environ})
        line = self._process.stdout.readline() if self._process.stdout is not None else ""
        if not line:
            raise RuntimeError(f"{' '.join(command[:4])} did not start: run it by hand to see why")
        self.told: dict[str, Any] = json.loads(line)

    def sample(self, word: str) -> float:
        """Let it do one round of *word* and return the CPU seconds that it took."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the contender has no pipes")
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        return float(json.loads(self._process.stdout.readline())["cpu"])

    def close(self) -> None:
        """Let it go."""
        self._process.kill()
        self._process.wait()


def measured(events: int, rounds: int) -> Section:
    """Return the section of one size: all contenders in turns."""
    spark = Contender(sys.executable, "-m", "benchmarks.pipeline.spark", str(events), str(BUILD / "events"))
    peers = str(Path(__file__).with_name("peers.py"))
    others = {"state": Contender(sys.executable, peers, "state", spark.told["lines"], SPEC)}
    if PEERS.exists():
        others |= {name: Contender(str(PEERS), peers, name, spark.told["parquet"], SPEC) for name in ("duckdb", "polars")}
    samples: dict[str, list[float]] = {name: [] for name in (*VARIANTS, *others)}
    try:
        for number in range(WARM_UP + rounds):
            for name, taken in samples.items():
                taken.append(others[name].sample("run") if name in others else spark.sample(name))
            taken_now = ", ".join(f"{name} {taken[-1]:.1f}" for name, taken in samples.items())
            print(f"{events} events, round {number + 1}: {taken_now}", file=sys.stderr, flush=True)
    finally:
        for one in (spark, *others.values()):
            one.close()
    kept = {name: taken[WARM_UP:] for name, taken in samples.items()}
    agreed = {name: one.told["checksum"] == spark.told["checksum"] for name, one in others.items() if name != "state"} | spark.told["same"]
    return _section(spark.told["events"], kept, others["state"].told["checksum"][0], agreed)


def _section(events: int, cpu: Mapping[str, Sequence[float]], replayed: int, agreed: Mapping[str, bool]) -> Section:
    full = cpu["full"]
    same = {name: {"same rows": float(is_same)} for name, is_same in agreed.items()}
    against = ratio([seconds / replayed for seconds in cpu["state"]], [seconds / events for seconds in full])
    entries = [
        Entry(RATE, events / statistics.median(full), "events/s"),
        Entry("Celery State, events per CPU second", replayed / statistics.median(cpu["state"]), "events/s"),
        Entry("full pass against State, events per CPU second", against, "x", _promised(15, events)),
        Entry("window formulation, CPU against the full pass", ratio(cpu["window"], full), "x", Target(1.3, "least"), same["window"]),
        Entry("full pass, CPU against the narrow pass", ratio(full, cpu["narrow"]), "x", Target(2, "least")),
        Entry("rebuild, CPU against a 5 % increment", ratio(cpu["rebuild"], cpu["increment"]), "x", _promised(8, events), same["merge"]),
    ]  # fmt: skip
    if "duckdb" in cpu:
        most = 1.0 if events >= 9_000_000 else 1.5
        for name, target in (("duckdb", Target(most)), ("polars", None)):
            entries.append(Entry(f"full pass, CPU against {name}", ratio(full, cpu[name]), "x", target, same[name]))
    how = f"CPU of the whole process tree, {len(full)} rounds in turns after {WARM_UP} to warm up, Parquet in, rows out"
    return Section(f"{events} events", how, entries)


def _promised(least: float, events: int) -> Target | None:
    return Target(least, "least") if events >= LARGE else None


def _compared(least: Section, most: Section) -> Section:
    rate = ratio([most.entries[0].value], [least.entries[0].value])
    return Section("sizes", f"{most.title} against {least.title}", [Entry(RATE, rate, "x", Target(0.9, "least"))])


def main() -> int:
    """Measure every size that was asked for; 1 when two contenders disagree about what happened."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, nargs="+", default=[1_000_000, 5_000_000])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    began = time.monotonic()
    sections = [measured(events, options.rounds) for events in sorted(options.events)]
    if len(sections) > 1:
        sections.append(_compared(sections[0], sections[-1]))
    report.write(BUILD / "pipeline.json", sections, time.monotonic() - began)
    print(report.table(sections))
    differing = [entry.name for section in sections for entry in section.entries if entry.more.get("same rows", 1) != 1]
    if differing:
        print(f"the rows differ: {', '.join(differing)}", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
