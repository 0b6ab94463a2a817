"""The command `python -m tests.fuzz`: what it is asked for, in turns over the targets, and what it says in the end."""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from math import inf
from multiprocessing import get_context
from pathlib import Path

from tests.fuzz.begun import EDGES, PLANTED
from tests.fuzz.faults import FAULTS
from tests.fuzz.loop import ENOUGH, Budget, Figures, Fuzzing, replayed, shares, summary
from tests.fuzz.referee import WATCH
from tests.fuzz.targets import every

BUILD = Path(__file__).resolve().parents[2] / "build" / "fuzz"
MOST_MEMORY = 4 * 1_073_741_824
"""Of one process: what asks for more gets a `MemoryError`, and the machine stays well."""
MINUTES = 10.0
TARGETS = {target.name: target for target in every()}


def arguments(given: Sequence[str]) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz the readers and engines of sedano.")
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"how long, all targets together (default: {MINUTES:.0f})")
    parser.add_argument("--executions", type=int, default=None, help="so many instead of minutes: the same run each time, no corpus")
    parser.add_argument("--seed", type=int, default=20261120)
    parser.add_argument("--target", action="append", default=[], choices=TARGETS, help="one target alone; may be repeated")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--build", type=Path, default=BUILD, help="where corpus, escapes and summary.json are kept")
    parser.add_argument("--plant", choices=sorted(FAULTS), help="plant this fault: does the fuzzer find it?")
    parser.add_argument("--list", action="store_true", help="list the targets")
    parser.add_argument("replay", nargs="*", help="replay FILE: run the inputs of an escape again")
    return parser.parse_args(given)


def main(asked: argparse.Namespace) -> int:
    """Fuzz or replay, and return the exit status."""
    if asked.list:
        print("\n".join(TARGETS))
        return 0
    if asked.replay:
        _begin()
        return _replay(asked.replay[1:])
    return _fuzz(asked, [name for name in TARGETS if not asked.target or name in asked.target])


def _begin() -> None:
    """Bound this process, and begin to look for what does not end."""
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    WATCH.start()


def _fuzz(asked: argparse.Namespace, names: list[str]) -> int:
    began = time.monotonic()
    if asked.executions is not None:
        _begin()
        parts = shares([TARGETS[name] for name in names], asked.executions)
        figures = [_one(name, asked.seed, parts[name], None, asked.build) for name in names]
    else:
        figures = _in_turns(asked, names)
    told = summary(figures, time.monotonic() - began, asked.seed)
    asked.build.mkdir(parents=True, exist_ok=True)
    (asked.build / "summary.json").write_text(json.dumps(told, indent=1) + "\n")
    print(f"{told['executions']} executions, {told['escapes']} escapes, {told['seconds']} s, seed {asked.seed}: {asked.build}/summary.json")
    return 1 if told["escapes"] else 0


def _in_turns(asked: argparse.Namespace, names: list[str]) -> list[Figures]:
    """Fuzz each target for its share of the time, each in a process of its own, on all processors."""
    whole = sum(TARGETS[name].weight for name in names)
    processes = min(asked.processes, len(names))
    seconds = {name: asked.minutes * 60 * processes * TARGETS[name].weight / whole for name in names}
    with ProcessPoolExecutor(processes, get_context("spawn"), initializer=_begin, max_tasks_per_child=1) as pool:
        order = sorted(names, key=lambda name: -seconds[name])
        running = [pool.submit(_one, name, asked.seed, None, seconds[name], asked.build) for name in order]
        done = {figures.target: figures for figures in (one.result() for one in as_completed(running))}
    return [done[name] for name in names]


def _one(name: str, seed: int, executions: int | None, seconds: float | None, build: Path) -> Figures:
    """Fuzz the target *name* for so many *executions*, with no corpus of earlier runs, or *seconds*, with one."""
    until = time.monotonic() + seconds if seconds is not None else inf
    fuzzing = Fuzzing(TARGETS[name], seed, EDGES, build if executions is None else None, build)
    figures = fuzzing.fuzz(Budget(inf if executions is None else executions, until, 1 if PLANTED else ENOUGH))
    print(
        f"{name:14} {figures.executions:9} executions {figures.per_cpu_second:8.0f}/s {figures.escapes:5} escapes"
        f" {figures.edges:5} branches {figures.slowest_ms:7.1f} ms {figures.peak_bytes / 1_048_576:6.1f} MiB",
        flush=True,
    )
    for key, detail in figures.found.items():
        print(f"    {key}: {detail}", flush=True)
    return figures


def _replay(files: Sequence[str]) -> int:
    found = 0
    for file in files:
        told = json.loads(Path(file).read_text())
        for escape in replayed(TARGETS[told["target"]], [one.encode("latin-1") for one in told["inputs"]]):
            print(f"{file}: {escape.key}: {escape.detail}")
            found += 1
    print(f"{found} escapes")
    return 1 if found else 0
