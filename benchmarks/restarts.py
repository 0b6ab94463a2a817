"""`sedano worker` under load: restarts, kills, and stops that last longer than the visibility of its messages.

    python -m benchmarks.restarts          # small, as in `make bench`
    python -m benchmarks.restarts --full   # 20 restarts under 10 000 tasks, 50 kills, 30 stops: about ten minutes

Real processes serve four queues in one SQLite file, so at a restart some messages may wait for a lane, and are returned. Triggers in that
file are the witness (`restart_witness.py`), independent of sedano. Each disturbance happens when the next part of the tasks has ended, so
all of them hit processes at work, however fast the machine is.
"""

from __future__ import annotations

import contextlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks import report, restart_tasks
from benchmarks.report import Entry, Section, Target
from benchmarks.restart_fleet import RestartFleet
from benchmarks.restart_tasks import LONG_S, QUEUES
from benchmarks.restart_witness import Witness, late, outcome, was_cut
from sedano.host import one_file
from sedano.host.worker_process import CUT_S
from sedano.ports import command_queue

DRAIN_S, VISIBILITY_S = 2.0, 6
"""Half of the tasks take `Load.long`, which is longer than the drain."""
BEYOND_S = 1.0
"""The seconds that a process stays stopped after its messages have become visible."""
CUT_AFTER_S = DRAIN_S - CUT_S
"""The seconds after the signal when async bodies that still run are cancelled."""
LOOK_S, MOST_S = 0.05, 300.0
"""The seconds between two reads of the file, and the seconds without an end of a task after which a run has failed."""
LATE_S, EXIT_S = 0.5, 1.0
"""The promises: how late a returned message becomes visible, and how long after its drain a process has ended."""
TOGETHER = 500


class Load(NamedTuple):
    """The number of *tasks*, of disturbances of one kind, of *processes*, of *lanes* in each, and the seconds of a *long* body."""

    tasks: int
    disturbances: int
    processes: int = 3
    lanes: int = 40
    long: float = LONG_S


class Size(NamedTuple):
    """The loads of the three parts."""

    restarts: Load
    kills: Load
    stops: Load


SMALL = Size(Load(1_000, 8, 2), Load(200, 3, 2), Load(200, 2, 2))
FULL = Size(Load(10_000, 20), Load(4_000, 50), Load(8_000, 30, 4))
HOW = (
    "processes of `sedano worker` over four queues in one SQLite file; half of the tasks take longer than the drain. Triggers in the file\n"
    "  note each end of a task, and when each returned message became visible; a stopped process continues after its messages have become\n"
    "  visible"
)


class Run(NamedTuple):
    """One running part: the fleet, the witness, and the number of tasks."""

    fleet: RestartFleet
    witness: Witness
    tasks: int


def section(size: Size = SMALL) -> Section:
    """Return the numbers for the report."""
    return Section("Restarts of workers", HOW, [*restarted(size.restarts), *killed(size.kills), *stopped(size.stops)])


def restarted(load: Load) -> list[Entry]:
    """Restart one process after the other under load, each as soon as the one before it receives messages again."""
    with running(load) as (run, tasks):
        restarts = [one for number in disturbances(run, load) for one in [run.fleet.restart(number % load.processes)]]
        found = finished(run, tasks)
        backs = [(moment, one) for one in restarts for moment in run.witness.given_back(one.began, one.ended)]
    slowest = max(one.ended - one.began for one in restarts)
    return [
        *entries(f"{len(restarts)} rolling restarts under {load.tasks} tasks", found),
        Entry(f"slowest exit, with a drain of {DRAIN_S:g} s", slowest, "s", Target(DRAIN_S + EXIT_S)),
        *_lateness("messages whose bodies had not begun", [late(*back, CUT_AFTER_S) for back in backs if not was_cut(*back, CUT_AFTER_S)]),
        *_lateness("messages whose bodies were cancelled", [late(*back, CUT_AFTER_S) for back in backs if was_cut(*back, CUT_AFTER_S)]),
    ]


def _lateness(what: str, delays: Sequence[float]) -> list[Entry]:
    """Return how many messages were returned, and how late."""
    more = {"median": statistics.median(delays)} if delays else {}
    return [
        Entry(f"{what}: given back", len(delays), ""),
        Entry(f"{what}: visible after", max(delays, default=0.0), "s", Target(LATE_S), more),
    ]


def killed(load: Load) -> list[Entry]:
    """Kill one process after the other (SIGKILL) under load."""
    with running(load) as (run, tasks):
        at_work = sum(run.fleet.kill(number % load.processes, run.witness.holds) for number in disturbances(run, load))
        found = finished(run, tasks)
    return [*entries(f"{load.disturbances} kills under {load.tasks} tasks", found), Entry("kills of a process at work", at_work, "")]


def stopped(load: Load) -> list[Entry]:
    """Stop processes (SIGSTOP), two at a time if there are more than two, for longer than the visibility of their messages."""
    at_once = 2 if load.processes > 2 else 1
    with running(load) as (run, tasks):
        at_work = 0
        for number in disturbances(run, load._replace(disturbances=-(-load.disturbances // at_once))):
            places = [(number * at_once + one) % load.processes for one in range(at_once)]
            at_work += run.fleet.pause(places, VISIBILITY_S + BEYOND_S, run.witness.holds)
        found, taken = finished(run, tasks), run.witness.taken_over()
    name = f"{load.disturbances} stops beyond the visibility under {load.tasks} tasks"
    return [*entries(name, found), Entry("stops of a process at work", at_work, ""), Entry("tasks taken over", taken, "")]


def entries(name: str, found: tuple[int, int]) -> list[Entry]:
    """Return the two figures of each part: lost tasks, and effects beyond the first."""
    lost, second = found
    return [Entry(f"{name}: lost", lost, "", Target(0)), Entry(f"{name}: second effects", second, "", Target(0))]


@contextlib.contextmanager
def running(load: Load) -> Iterator[tuple[Run, set[str]]]:
    """Yield a fleet over a new file with the published tasks of *load*, and the ids of these."""
    with tempfile.TemporaryDirectory(prefix="sedano-bench-") as folder:
        file = Path(folder) / "own" / "restarts.db"
        tasks = published(file, load.tasks, load.long)
        with Witness(file) as witness, RestartFleet(Path(folder), file, load.processes, options(load)) as fleet:
            yield Run(fleet, witness, load.tasks), tasks


def options(load: Load) -> tuple[str, ...]:
    """Return the options of each process."""
    return ("-c", str(load.lanes), "--drain", f"{DRAIN_S:g}", "--visibility", str(VISIBILITY_S))


def published(file: Path, tasks: int, long: float = LONG_S) -> set[str]:
    """Publish *tasks* tasks, of which every second takes *long* seconds; return their ids."""
    app = restart_tasks.app
    app.attach(one_file.ports(file, QUEUES))
    found = set()
    for start in range(0, tasks, TOGETHER):
        with app.batch():
            for number in range(start, min(start + TOGETHER, tasks)):
                rest = restart_tasks.rests[number // 2 % len(QUEUES)]
                found.add(rest.delay(long if number % 2 else 0.0).id)
    app.close()
    app.attach(None)
    return found


def disturbances(run: Run, load: Load) -> Iterator[int]:
    """Yield the number of each disturbance once its part of the tasks has ended."""
    for number in range(load.disturbances):
        part = (number + 1) * run.tasks // (load.disturbances + 2)
        wait(partial(_have_ended, run, part), run)
        yield number


def _have_ended(run: Run, tasks: int) -> bool:
    return run.witness.ended() >= tasks


def finished(run: Run, tasks: set[str]) -> tuple[int, int]:
    """Wait until all tasks have ended and no message is left; return the number of lost tasks and of second effects."""
    with contextlib.suppress(TimeoutError):
        wait(lambda: run.witness.ended() >= run.tasks and not _left(run), run)
    run.fleet.end()
    return outcome(tasks, run.witness.ends(), _left(run))


def _left(run: Run) -> int:
    """Return how many messages are left in all queues."""
    return sum(run.witness.left(command_queue(queue)) for queue in QUEUES)


def wait(reached: Callable[[], bool], run: Run) -> None:
    """Wait until *reached* returns True.

    Raises:
        TimeoutError: no task ended for `MOST_S`.
    """
    known, until = -1, 0.0
    while not reached():
        if (ended := run.witness.ended()) != known:
            known, until = ended, time.monotonic() + MOST_S
        if time.monotonic() > until:
            raise TimeoutError(f"{known} of {run.tasks} tasks have ended, and none for {MOST_S:g} s:\n{run.fleet.last_lines()}")
        time.sleep(LOOK_S)


def main(given: Sequence[str] | None = None) -> None:
    """Measure, print and write build/bench/restarts.json."""
    words = "Restart workers under load."
    found = report.measure_alone("restarts", words, "about ten minutes", lambda full: section(FULL if full else SMALL), given)
    if any(entry.verdict == "MISSED" for entry in found.entries):
        sys.exit(1)


if __name__ == "__main__":
    main()
