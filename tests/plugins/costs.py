"""What each file of tests takes in CPU: named at the end of a run, kept, and left out of the quick one.

`--costly=25`  names the files that took most
`--keep-costs` writes them to `tests/COSTS.md`; the rows of files that this run did not run stay as they are
`--quick`      leaves out the files that take more than `QUICK_S` by that page, save the walls, and says how many

It is the CPU of the processes that run tests and of all that they started, such as the JVM and the local endpoint, so a busy machine does
not change it.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

COLLECTING = "before the first test"
PAGE = Path(__file__).parents[1] / "COSTS.md"
QUICK_S = 2.0
SHOWN_S = 1.0
TICKS = os.sysconf("SC_CLK_TCK")
WALLS = tuple(f"tests/house/test_{name}.py" for name in ("the_tree", "prose", "glossary"))
"""The rules of the house about the tree. They run in each quick run, whatever they cost."""
_ROW = re.compile(r"^\| +([0-9.]+) \| `([^`]+)` \|$", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take what is asked about costs."""
    parser.addoption("--costly", type=int, default=0, metavar="N", help="name the N files of tests that took most CPU")
    parser.addoption("--keep-costs", action="store_true", help="write what each file took to tests/COSTS.md")
    parser.addoption("--quick", action="store_true", help=f"leave out the files that take more than {QUICK_S:g} s of CPU by tests/COSTS.md")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to count."""
    config.pluginmanager.register(Costs(config), "costs")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is dear, when the run is to be quick."""
    if not config.getoption("quick"):
        return
    kept = stored(PAGE.read_text(encoding="utf-8"))
    dear = [item for item in items if not is_quick(item.nodeid, kept)]
    config.hook.pytest_deselected(items=dear)
    items[:] = [item for item in items if item not in set(dear)]


def is_quick(nodeid: str, kept: Mapping[str, float]) -> bool:
    """Return whether a quick run has this test, by the seconds of its file in *kept*."""
    file = nodeid.split("::", maxsplit=1)[0]
    return file in WALLS or kept.get(file, 0.0) <= QUICK_S


def cpu() -> float:
    """Return the seconds of CPU of this process and of all that it started; where there is no /proc, only of those that have ended."""
    return sum(os.times()[:4]) + sum(map(_cpu_of, _started_by(os.getpid())))


def _started_by(process: int) -> Iterator[int]:
    """Yield the processes that live below *process*."""
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, task.read_text().split()):
                yield child
                yield from _started_by(child)


def _cpu_of(process: int) -> float:
    """Return the seconds of CPU of a process and of its children that have ended; 0 when it is gone."""
    try:
        told = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0.0
    return sum(map(int, told.rpartition(")")[2].split()[11:15])) / TICKS


def page(taken: Mapping[str, float]) -> str:
    """Return the text of the page about *taken*: seconds by file, the dearest first."""
    shown = {file: seconds for file, seconds in taken.items() if seconds >= SHOWN_S and file.endswith(".py")}
    rows = [f"| {seconds:.1f} | `{file}` |" for file, seconds in sorted(shown.items(), key=lambda one: -one[1])]
    head = (
        f"Seconds of CPU by file, when it was last run with `--keep-costs`: {sum(shown.values()) / 60:.0f} minutes in all. Files below "
        f"{SHOWN_S:g} s are left out.\n"
        f"`make check` leaves out what takes more than {QUICK_S:g} s. `.venv/bin/python -m pytest --keep-costs tests/unit` writes the rows "
        "of a room anew."
    )
    return "\n".join(["# What the tests take", "", head, "", "| CPU s | file |", "|---|---|", *rows, ""])


def stored(text: str) -> dict[str, float]:
    """Return the seconds by file that a page names."""
    return {file: float(seconds) for seconds, file in _ROW.findall(text)}


def renewed(text: str, taken: Mapping[str, float]) -> str:
    """Return the page *text* with the rows of the files in *taken* made anew, and without those of files that are gone."""
    others = {file: seconds for file, seconds in stored(text).items() if (PAGE.parents[1] / file).is_file()}
    return page({**others, **taken})


class Costs:
    """Counts the CPU that each file takes in this process, and takes over what other processes of the run have counted."""

    def __init__(self, config: pytest.Config) -> None:
        """Begin now."""
        self.file, self.since, self._config = COLLECTING, cpu(), config
        self.taken: dict[str, float] = {}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note which file is run."""
        file = nodeid.split("::", maxsplit=1)[0]
        if file != self.file:
            self._count(file)

    def pytest_sessionfinish(self) -> None:
        """Hand the figures to the process that gives out the tests, where there is one."""
        self._count("")
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["taken"] = self.taken

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over the figures of a process that has ended."""
        for file, seconds in getattr(node, "workeroutput", {}).get("taken", {}).items():
            self.taken[file] = self.taken.get(file, 0.0) + seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the files that took most; keep them all, when that is asked."""
        if self._config.getoption("keep_costs"):
            PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), self.taken), encoding="utf-8")
        most = self._config.getoption("costly")
        if most:
            terminalreporter.section("files that took most CPU")
            for file, seconds in sorted(self.taken.items(), key=lambda one: -one[1])[:most]:
                terminalreporter.write_line(f"{seconds:7.1f} s  {file}")

    def _count(self, file: str) -> None:
        """Note what the file before *file* has taken."""
        now = cpu()
        self.taken[self.file] = self.taken.get(self.file, 0.0) + now - self.since
        self.file, self.since = file, now
