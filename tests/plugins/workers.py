"""Which tests stay together when a run has several processes (`-n 2`): those of a file, and rooms that share a server.

The Spark session and the local AWS endpoint are made once a process, so the rooms that need one stay in one process. The tests on the
endpoint wait more than they compute: for a visibility timeout, for a function that starts, for the next minute. So they begin first in a
run of several processes, and the other processes compute meanwhile. At the end of such a run they would wait alone, with the other cores
idle. A run of one process cannot overlap anything and keeps them for its end, because it reports cheaper failures first.

The groups are given out by a scheduler of our own: xdist 3.8 appends the name of a group to a field of a test that pytest 9.2 does not have
any more, so its `--dist loadgroup` keeps nothing together, and does not say so.
"""

from collections.abc import Generator
from contextlib import suppress
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

ON_ENDPOINT = "endpoint"
TOGETHER = {"tests/pipeline": "pipeline", "tests/trust": "trust", "tests/deploy": ON_ENDPOINT}
ENDPOINT = (
    "tests/infra/test_refusals.py",
    *(f"tests/examples/test_{name}.py" for name in ("demo", "demo_pages", "orders_demo")),
    "tests/stories/test_worker_on_sqs.py",
)
"""Files that need the endpoint, and whose names do not say so."""


class Groups(LoadScopeScheduling):
    """Gives out whole groups, in the order in which they begin."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)

    def _reschedule(self, node: WorkerController) -> None:
        """Give *node* enough to go on: a process begins a test when it knows the next one, or that it is the last."""
        super()._reschedule(node)
        while not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
            if not self.workqueue:
                node.shutdown()
                return
            self._assign_work_unit(node)

    def _assign_work_unit(self, node: WorkerController) -> None:
        """Give *node* the next group; if its process has just ended, `remove_node` will give that group to another one."""
        with suppress(OSError):
            super()._assign_work_unit(node)

    def remove_node(self, node: WorkerController) -> str | None:
        """Give what a process that crashed has left to the others, without the test that ended it, which is reported as failed.

        xdist's own gives back that test too, and groups without a test that is left; one of those lets two processes wait for ever.
        """
        units = self.assigned_work.pop(node)
        left = [(unit, test) for unit in units.values() for test, completed in unit.items() if not completed]
        if not left:
            return None
        unit, crashed = left[0]
        unit[crashed] = True
        self.workqueue.update({name: unit for name, unit in units.items() if not all(unit.values())})
        for other in self.assigned_work:
            self._reschedule(other)
        return str(crashed)


def group_of(nodeid: str) -> str:
    """Return what a test stays together with: its file, its room, or all that needs the endpoint."""
    file, _, name = nodeid.partition("::")
    if "ministack" in name or file in ENDPOINT:
        return ON_ENDPOINT
    return TOGETHER.get("/".join(file.split("/")[:2]), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Groups:
    """Give out groups, whatever `--dist` says."""
    config.option.loadscopereorder = False
    return Groups(config, log)


def turn_of(nodeid: str, processes: int) -> bool:
    """Return the sort key of a test: what needs the endpoint is first in a run of several processes, and last in a run of one."""
    return (group_of(nodeid) == ON_ENDPOINT) is (processes == 1)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put what needs the endpoint first or last; its name, or the list above, has to say that it does.

    Raises:
        UsageError: it does not.
    """
    for item in items:
        if _needs_the_endpoint(item) and group_of(item.nodeid) != ON_ENDPOINT:
            raise pytest.UsageError(f"{item.nodeid} needs the endpoint: name its file in ENDPOINT of tests/plugins/workers.py")
    processes = int(getattr(config, "workerinput", {}).get("workercount", 1))
    items.sort(key=lambda item: turn_of(item.nodeid, processes))


def _needs_the_endpoint(item: pytest.Item) -> bool:
    asked = {"ministack", "ministack_resources"} & {*getattr(item, "fixturenames", ())}
    return bool(asked) or item.get_closest_marker("ministack") is not None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let what a test printed travel between processes: a text that has no UTF-8, which some tests print, would end the run."""
    report = yield
    report.sections = [(name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections]
    return report
