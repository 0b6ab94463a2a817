"""A reload of `sedano dev` makes a spare process the next worker. The spare has nothing of the project, and its death costs nothing."""

import os
import signal
from pathlib import Path

import pytest

from tests.ended import until_ended
from tests.stories.dev_project import CODE, SECONDS, DevProject
from tests.waiting import until


@pytest.fixture
def started(dev: DevProject) -> DevProject:
    """A project on which `sedano dev` runs."""
    dev.start()
    return dev


def children(dev: DevProject) -> set[int]:
    """The processes that the supervisor has started, and that run."""
    assert dev.process is not None
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(parent) == dev.process.pid and state != "Z":
            found.add(int(path.parent.name))
    return found


def working(dev: DevProject, name: str) -> int:
    """The process of the worker that works now, which a task reports."""
    before, go = len(dev.lines), dev.folder / name
    running = dev.beside().send_task("slow", (str(go),))
    pid = int(dev.said("slow begins", before).rpartition(" ")[2])
    go.touch()
    running.get(timeout=SECONDS)
    return pid


def spare_beside(dev: DevProject, *others: int) -> int:
    """The process that waits beside the *others*: it has its channel open, and neither the port nor the database."""
    until(lambda: len(children(dev) - {*others}) == 1)
    (spare,) = children(dev) - {*others}
    until(lambda: sum(name.startswith("socket:") for name in files(spare)) == 1)
    assert not [name for name in files(spare) if "dev." in name or dev.folder.name in name]
    return spare


def files(pid: int) -> list[str]:
    """What the process has open."""
    found = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.append(str(link.readlink()))
        except FileNotFoundError:
            continue
    return found


def test_a_reload_makes_the_spare_the_next_worker(started: DevProject) -> None:
    first = working(started, "one")
    spare = spare_beside(started, first)
    before = len(started.lines)
    started.save(2)
    started.said("ready in", before)
    assert working(started, "two") == spare
    assert started.beside().send_task("version").get(timeout=SECONDS) == 2
    assert spare_beside(started, spare) not in (first, spare)
    assert started.end() == 0


def test_a_spare_that_is_killed_costs_nothing(started: DevProject) -> None:
    worker = working(started, "one")
    spare = spare_beside(started, worker)
    os.kill(spare, signal.SIGKILL)
    until(lambda: not children(started) & {spare})
    before = len(started.lines)
    waiting = [started.beside().send_task("version") for _ in range(12)]
    started.save(2)
    started.said("ready in", before)
    assert {result.get(timeout=SECONDS) for result in waiting} <= {1, 2}
    assert working(started, "two") not in (worker, spare)
    assert started.end() == 0


def test_code_that_does_not_load_leaves_a_spare_for_the_next_save(started: DevProject) -> None:
    worker = working(started, "one")
    loads = spare_beside(started, worker)
    before = len(started.lines)
    started.save(2, CODE + "\nbroken(\n")
    started.said("does not load", before)
    spare = spare_beside(started, worker, loads)
    started.save(3)
    started.said("ready in", before)
    assert working(started, "two") == spare
    assert started.end() == 0


def test_a_spare_ends_with_a_killed_supervisor(started: DevProject) -> None:
    spare = spare_beside(started, working(started, "one"))
    assert started.end(signal.SIGKILL) == -signal.SIGKILL
    until_ended(spare)
