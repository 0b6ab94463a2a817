"""`make bench`: measure everything, print it, write it to build/bench: task_path.json, canvas.json, flow.json, and so on.

No measurement fails because a machine is slow or busy: CPU is compared with that of the peers. Tests (tests/unit/bench) check counts and
bytes at small sizes; this command checks those of the canvas at the promised sizes, and fails if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import (
    autoscaler,
    aws_client,
    boxes,
    bytecodes,
    calls,
    canvas,
    canvas_beside,
    codec,
    cold,
    fairness_beside,
    first_steps,
    flow,
    framework,
    handler,
    handler_loopback,
    one_file,
    pages,
    publisher_hosts,
    publishing,
    report,
    restarts,
    sizes,
    summary,
    waiting,
    worker_peers,
    write_units,
)
from benchmarks.report import Section

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "bench"
ENDPOINT = ROOT / ".venv-ministack" / "bin" / "python"
CANVAS = "canvas.json"
"""The file whose targets this command enforces."""
WRITE_UNITS, UNITS = "write_units.json", "write units"


class Progress:
    """Prints the current measurement on stderr; on a terminal in one line, with a dot for each round."""

    def __init__(self) -> None:
        """Print nothing yet."""
        self._terminal = sys.stderr.isatty()

    def begin(self, number: int, total: int, title: str) -> None:
        """Print that the section *title* begins."""
        head = "\r\033[K" if self._terminal else ""
        end = " " if self._terminal else "\n"
        print(f"{head}[{number}/{total}] {title}", end=end, file=sys.stderr, flush=True)

    def round(self) -> None:
        """Print that a round is done."""
        if self._terminal:
            print(".", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """End the line."""
        if self._terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def task_path(progress: Progress) -> dict[str, Callable[[], Section]]:
    """Return the measurements of a task on its way, by title."""
    return {
        "AWS calls a task": calls.section,
        "bytes": sizes.section,
        "bytecodes of the task path": bytecodes.section,
        "tasks that wait": waiting.section,
        "framework CPU, twelve contenders in turns": lambda: framework.section(progress.round),
        "handler CPU, AWS client included": lambda: handler.section(progress.round),
        "handler CPU over a socket": lambda: handler_loopback.section(progress.round),
        "one SQLite file": lambda: one_file.section(progress.round),
        "publishing": lambda: publishing.section(progress.round),
        "many short programs on one host": lambda: publisher_hosts.section(progress.round),
        "workers over SQS": lambda: worker_peers.section(progress.round),
        "cold start": lambda: cold.section(progress.round, BUILD),
        "codec": lambda: codec.section(progress.round),
    }


def measurements(progress: Progress, full: bool) -> dict[str, dict[str, Callable[[], Section]]]:
    """Return the measurements by output file and title; *full*: run the long ones at the promised sizes."""
    return {
        "task_path.json": task_path(progress),
        "aws_client.json": {"one AWS call": lambda: aws_client.section(progress.round)}, "pages.json": {"pages": pages.section},
        CANVAS: {
            "bytes of a canvas's messages": canvas.section_of_sizes, "calls of a canvas": canvas.section_of_calls,
            "a canvas beside Celery's": canvas_beside.section,
        },
        "restarts.json": {"restarts of workers": lambda: restarts.section(restarts.FULL if full else restarts.SMALL)},
        "boxes.json": {"boxed tasks": lambda: boxes.section(boxes.FULL if full else boxes.SMALL)},
        "flow.json": {
            "rate limits": flow.section_of_rates,
            "fairness": flow.section_of_fairness,
            "fairness on the local endpoint": lambda: fairness_beside.section(ENDPOINT, BUILD / "endpoint"),
            "autoscaler": lambda: autoscaler.section(BUILD),
        },
        WRITE_UNITS: {UNITS: write_units.section}, "first_steps.json": {"first steps": lambda: first_steps.section(progress.round)},
    }


def main(given: Sequence[str] | None = None) -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure everything.")
    parser.add_argument("--full", action="store_true", help="measure restarts and boxed tasks at the promised size: about ten minutes more")
    full = parser.parse_args(given).full
    began, progress = time.monotonic(), Progress()
    files = measurements(progress, full)
    steps = {title: measure for some in files.values() for title, measure in some.items()}
    found: dict[str, Section] = {}
    for number, (title, measure) in enumerate(steps.items(), 1):
        progress.begin(number, len(steps), title)
        found[title] = measure()
    progress.end()
    for name, titles in files.items():
        report.write(BUILD / name, [found[title] for title in titles], time.monotonic() - began)
    report.write_summary(BUILD / "summary.json", summary.summary(list(found.values()), found[UNITS]))
    print(report.table(list(found.values())))
    missed = [entry.name for title in files[CANVAS] for entry in found[title].entries if entry.verdict == "MISSED"]
    print(f"\n{time.monotonic() - began:.0f} s; the same as JSON in {BUILD.relative_to(ROOT)}: {', '.join(files)}")
    if missed:
        sys.exit(f"a canvas misses its targets: {'; '.join(missed)}")


if __name__ == "__main__":
    main()
