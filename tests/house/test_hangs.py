"""What hangs ends: a run of several processes names the test, says where it stood, and goes on."""

import os
import signal
import subprocess
import sys
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.elapsed import LONG_S, Rooms
from tests.plugins.workers import Groups

ROOT = Path(__file__).parents[2]
SECONDS = 400.0
"""How long a run here may take. It takes a few; a machine whose disk had just been filled once needed more than 120."""
CONFTEST = """
pytest_plugins = ["tests.plugins.last_resort"]
from tests.plugins import last_resort
last_resort.GRACE_S = last_resort.FINISH_S = 0.5
"""
HANGS = """
import signal, threading
import pytest

signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})  # from here on: on a busy machine it came between the body and its clean-up

def hang_where_no_signal_is_met():
    threading.Event().wait()

@pytest.mark.timeout(1.5)
def test_that_hangs():
    hang_where_no_signal_is_met()

@pytest.fixture
def unclean():
    yield
    hang_where_no_signal_is_met()

@pytest.mark.timeout(1.5)
def test_whose_clean_up_hangs_after_it_failed(unclean):
    assert unclean

def test_that_passes():
    pass
"""
HANGS_AT_THE_END = """
import threading

def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):
        threading.Event().wait()
"""


def _ran(folder: Path, conftest: str, tests: str, *options: str, processes: int = 1) -> tuple[int, str]:
    (folder / "conftest.py").write_text(conftest)
    (folder / "test_it.py").write_text(tests)
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", f"-n{processes}", "-p", "no:cacheprovider", "test_it.py", *options]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    environment.pop("PYTEST_ADDOPTS", None)
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
        try:
            said, _ = run.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGABRT)  # upon which pytest's faulthandler says where each thread stands
            pytest.fail(f"the run hangs: {run.communicate()[0]}")
    return run.returncode, said


def test_a_test_that_no_signal_ends_is_named_and_the_others_run(tmp_path: Path) -> None:
    code, said = _ran(tmp_path, CONFTEST, HANGS)
    assert code == 1, said
    assert "crashed while running 'test_it.py::test_that_hangs'" in said
    assert "crashed while running 'test_it.py::test_whose_clean_up_hangs_after_it_failed'" in said
    assert said.count("in hang_where_no_signal_is_met") >= 2, "where each of them stood"
    assert "1 passed" in said


CRASHES = """
import os
from pathlib import Path

def test_one():
    pass

def test_that_ends_its_process():
    with Path(__file__).with_name("ended").open("a") as ended:
        ended.write("once ")
    os._exit(1)

def test_that_is_left():
    pass
"""


def test_a_run_goes_on_without_the_test_that_ended_its_process(tmp_path: Path) -> None:
    """The others run, that one does not run again, and no process waits for ever for what is left of the groups."""
    for name in ("test_b", "test_c", "test_d"):
        (tmp_path / f"{name}.py").write_text("def test_it():\n    pass\n")
    conftest = CONFTEST.replace('"]', '", "tests.plugins.workers"]')
    code, said = _ran(tmp_path, conftest, CRASHES, "test_b.py", "test_c.py", "test_d.py", processes=2)
    assert code == 1, said
    assert "1 failed, 5 passed" in said
    assert "crashed while running 'test_it.py::test_that_ends_its_process'" in said
    assert (tmp_path / "ended").read_text() == "once "


def test_a_test_whose_phases_are_called_alone_leaves_no_limit_behind(tmp_path: Path) -> None:
    """The campaign of mutants does that; it goes on for hours in the same process."""
    tests = "import time\n\ndef test_it():\n    pass\n"
    loop = """
import time
def pytest_runtestloop(session):
    (item,) = session.items
    item.ihook.pytest_runtest_setup(item=item)
    item.ihook.pytest_runtest_teardown(item=item, nextitem=None)
    time.sleep(2)  # longer than limit and grace: a limit that was left behind ends the process here
    print("the loop ended")
    return True
"""
    code, said = _ran(tmp_path, CONFTEST + loop, tests, "-s", "-o", "timeout=0.5", processes=0)
    assert (code, "the loop ended" in said) == (0, True), said


def test_a_process_that_does_not_end_after_its_tests_is_ended(tmp_path: Path) -> None:
    _, said = _ran(tmp_path, CONFTEST + HANGS_AT_THE_END, "def test_that_passes():\n    pass\n")
    assert "1 passed" in said
    assert "in pytest_sessionfinish" in said


NOTES_ITS_LIMITS = """
import faulthandler
from pathlib import Path

limits = []
faulthandler.dump_traceback_later = lambda *_, **__: limits.append("begins")
faulthandler.cancel_dump_traceback_later = lambda: limits.append("ends")

def pytest_unconfigure(config):
    if hasattr(config, "workerinput"):
        Path(__file__).with_name("limits").write_text(" ".join(limits))
"""


def test_a_process_that_ended_in_time_may_wait_for_the_others(tmp_path: Path) -> None:
    """It printed where each of its threads stood and was ended, while the others were still at their tests."""
    code, said = _ran(tmp_path, CONFTEST + NOTES_ITS_LIMITS, "def test_that_passes():\n    pass\n")
    assert code == 0, said
    assert (tmp_path / "limits").read_text().split()[-2:] == ["begins", "ends"]


class _Config:
    pluginmanager = type("None", (), {"get_plugin": staticmethod(lambda _name: None)})


def test_a_test_that_runs_for_minutes_is_named_and_named_again_after_twice_as_long() -> None:
    rooms = Rooms(_Config())  # type: ignore[arg-type]  # it asks for the terminal, and there is none
    rooms.pytest_runtest_logstart("tests/unit/test_a.py::test_b")
    began = time.monotonic()
    assert rooms.long(began + LONG_S - 1) == []
    assert rooms.long(began + LONG_S) == ["tests/unit/test_a.py::test_b: running for 2.0 min"]
    assert rooms.long(began + 1.5 * LONG_S) == []
    assert rooms.long(began + 2 * LONG_S) == ["tests/unit/test_a.py::test_b: running for 4.0 min"]
    rooms.pytest_runtest_logfinish("tests/unit/test_a.py::test_b")
    assert rooms.long(began + 100 * LONG_S) == []


class Node:
    """A process of a run, which takes tests until it *ended*."""

    shutting_down = False

    def __init__(self, *, ended: bool) -> None:
        self.ended, self.given = ended, list[int]()

    def send_runtest_some(self, indices: list[int]) -> None:
        """Take them."""
        if self.ended:
            raise OSError("cannot send (already closed?)")
        self.given += indices

    def shutdown(self) -> None:
        """Be given nothing more."""
        self.shutting_down = True


def test_a_process_that_ends_while_it_is_given_tests_leaves_them_to_the_others() -> None:
    tests = [f"test_{name}.py::test_it" for name in "abcdef"]
    gone, other = Node(ended=True), Node(ended=False)
    groups: Any = object.__new__(Groups)
    groups.log, groups.workqueue = lambda *_: None, OrderedDict((name, {name: False}) for name in tests)
    groups.registered_collections, groups.assigned_work = {gone: tests, other: tests}, {gone: {}, other: {}}
    groups._reschedule(gone)
    assert groups.remove_node(gone) == tests[0], "the one that it was at is not run again"
    while not other.shutting_down:
        for unit in groups.assigned_work[other].values():
            unit.update(dict.fromkeys(unit, True))
        groups._reschedule(other)
    assert sorted(other.given) == [1, 2, 3, 4, 5]
