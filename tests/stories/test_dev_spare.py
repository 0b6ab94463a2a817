"""A reload of `sedano dev` makes a spare process the next worker. The spare has nothing of the project, and its death costs nothing."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ended import until_ended
from tests.stories.dev_project import CODE, SECONDS, DevProject, until


@pytest.fixture
def project(tmp_path: Path) -> Iterator[DevProject]:
    """A project on which `sedano dev` runs, and nothing afterwards."""
    made = DevProject(tmp_path)
    made.start()
    yield made
    made.close()


def children(project: DevProject) -> set[int]:
    """The processes that the supervisor has started, and that run."""
    assert project.process is not None
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(parent) == project.process.pid and state != "Z":
            found.add(int(path.parent.name))
    return found


def working(project: DevProject, name: str) -> int:
    """The process of the worker that works now, which a task reports."""
    before, go = len(project.lines), project.folder / name
    running = project.beside().send_task("slow", (str(go),))
    pid = int(project.said("slow begins", before).rpartition(" ")[2])
    go.touch()
    running.get(timeout=SECONDS)
    return pid


def spare_beside(project: DevProject, *others: int) -> int:
    """The process that waits beside the *others*: it has its channel open, and neither the port nor the database."""
    until(lambda: len(children(project) - {*others}) == 1)
    (spare,) = children(project) - {*others}
    until(lambda: sum(name.startswith("socket:") for name in files(spare)) == 1)
    assert not [name for name in files(spare) if "dev." in name or project.folder.name in name]
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


def test_a_reload_makes_the_spare_the_next_worker(project: DevProject) -> None:
    first = working(project, "one")
    spare = spare_beside(project, first)
    before = len(project.lines)
    project.save(2)
    project.said("ready in", before)
    assert working(project, "two") == spare
    assert project.beside().send_task("version").get(timeout=SECONDS) == 2
    assert spare_beside(project, spare) not in (first, spare)
    assert project.end() == 0


def test_a_spare_that_is_killed_costs_nothing(project: DevProject) -> None:
    worker = working(project, "one")
    spare = spare_beside(project, worker)
    os.kill(spare, signal.SIGKILL)
    until(lambda: not children(project) & {spare})
    before = len(project.lines)
    waiting = [project.beside().send_task("version") for _ in range(12)]
    project.save(2)
    project.said("ready in", before)
    assert {result.get(timeout=SECONDS) for result in waiting} <= {1, 2}
    assert working(project, "two") not in (worker, spare)
    assert project.end() == 0


def test_code_that_does_not_load_leaves_a_spare_for_the_next_save(project: DevProject) -> None:
    worker = working(project, "one")
    loads = spare_beside(project, worker)
    before = len(project.lines)
    project.save(2, CODE + "\nbroken(\n")
    project.said("does not load", before)
    spare = spare_beside(project, worker, loads)
    project.save(3)
    project.said("ready in", before)
    assert working(project, "two") == spare
    assert project.end() == 0


def test_a_spare_ends_with_a_killed_supervisor(project: DevProject) -> None:
    spare = spare_beside(project, working(project, "one"))
    assert project.end(signal.SIGKILL) == -signal.SIGKILL
    until_ended(spare)
