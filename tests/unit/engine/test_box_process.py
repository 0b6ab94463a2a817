"""One process of a box: what it writes, its limits, whether it can take a call, and its end."""

import os
import resource
import signal
import sys
from pathlib import Path

import pytest

from sedano.engine.boxes.child import AT_FIRST, SPARE, BoxProcess
from sedano.engine.boxes.watcher import WATCHER
from sedano.errors import BoxMissing
from sedano.model.boxes import BoxPlan
from tests.unit.engine.boxed import QUICKLY, Processes, arrived, ended

MEMORY = 64 << 20
RESERVES = """
import mmap
reserved = mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
reserved[: 8 << 20] = bytes(8 << 20)
print(flush=True)
input()
"""
"""A program that uses a part of what it reserves."""
pytestmark = QUICKLY
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process from outside")


def data_limit(child: BoxProcess) -> int:
    """Return the bytes of data that *child* may have."""
    return resource.prlimit(child.pid, resource.RLIMIT_DATA)[0]


def test_stderr_is_logged_until_its_end(processes: Processes) -> None:
    child = processes.start("read go; echo warning >&2; exec 2>&-; echo; read more")
    assert child.log_errors() is True
    os.write(child.requests, b"\n")
    arrived(child.output, child.errors)
    assert child.log_errors() is True
    assert child.log_errors() is False
    assert processes.lines == [("stderr", "warning")]


def test_the_last_lines_of_a_process_that_has_ended_are_logged_though_they_have_no_end(processes: Processes) -> None:
    child = processes.start("printf 'first\nlast' >&2; printf out")
    ended(child)
    assert child.replies() == []
    child.log_rest()
    assert processes.lines == [("stdout", "out"), ("stderr", "first"), ("stderr", "last")]
    assert child.last_line == "last"


def test_the_beginning_of_a_reply_is_not_logged(processes: Processes) -> None:
    child = processes.start(r"printf '\036half'")
    ended(child)
    assert child.replies() == []
    child.log_rest()
    assert processes.lines == []


def test_the_rest_of_a_process_that_goes_on_is_logged_as_far_as_it_has_arrived(processes: Processes) -> None:
    child = processes.start("echo warning >&2; read more")
    arrived(child.errors)
    child.log_rest()
    assert processes.lines == [("stderr", "warning")]


def test_what_a_process_wrote_since_its_last_call_is_logged_before_it_takes_another_one(processes: Processes) -> None:
    child = processes.start("echo late >&2; echo later; read more")
    arrived(child.output, child.errors)
    assert child.is_fit()
    assert sorted(processes.lines) == [("stderr", "late"), ("stdout", "later")]


@pytest.mark.parametrize("script", [r"printf '\036{}\n'; read more", r"printf '\036{'; read more", "exec >&-; read more"])
def test_a_process_that_replied_without_a_request_or_closed_its_output_takes_no_call(processes: Processes, script: str) -> None:
    child = processes.start(script)
    arrived(child.output)
    assert not child.is_fit()


def test_a_process_without_a_call_keeps_its_last_line_and_logs_nothing(processes: Processes) -> None:
    child = processes.start("echo early; read more")
    child.log = None
    arrived(child.output)
    assert child.replies() == []
    assert child.last_line == "early"


@linux
def test_a_process_may_have_its_memory_and_what_its_runtime_reserves_and_no_core_file(processes: Processes) -> None:
    first, later = processes.start("read more", memory=MEMORY), processes.start("read more", 100 << 20, memory=MEMORY)
    assert [data_limit(first), data_limit(later)] == [MEMORY + AT_FIRST, MEMORY + (100 << 20) + SPARE]
    assert resource.prlimit(first.pid, resource.RLIMIT_CORE) == (0, 0)
    assert data_limit(processes.start("read more")) == resource.getrlimit(resource.RLIMIT_DATA)[0]


@linux
def test_what_a_runtime_reserves_and_does_not_use_is_measured_and_then_allowed(processes: Processes) -> None:
    child = processes.of(BoxPlan("box", (sys.executable, "-S", "-E", "-c", RESERVES), memory=MEMORY))
    arrived(child.output)
    lines = Path(f"/proc/{child.pid}/status").read_text().splitlines()
    size = {name: int(text.split()[0]) << 10 for name, _, text in (line.partition(":") for line in lines) if name in ("VmData", "VmRSS")}
    unused = child.reserved()
    assert abs(unused - (size["VmData"] - size["VmRSS"])) < 1 << 20
    assert data_limit(child) == MEMORY + unused


@linux
def test_a_runtime_that_uses_more_than_it_reserves_is_allowed_its_memory_alone(processes: Processes) -> None:
    child = processes.start("echo; read more", memory=MEMORY)
    arrived(child.output)
    assert child.reserved() == 0
    assert data_limit(child) == MEMORY


@linux
def test_a_process_without_a_memory_limit_gets_none_when_it_is_measured(processes: Processes) -> None:
    child = processes.start("echo; read more")
    arrived(child.output)
    child.reserved()
    assert data_limit(child) == resource.getrlimit(resource.RLIMIT_DATA)[0]


def test_a_process_that_has_ended_reserves_nothing(processes: Processes) -> None:
    child = processes.start("read more", memory=MEMORY)
    child.kill()
    assert child.reserved() == 0


def test_a_process_whose_input_is_closed_ends(processes: Processes) -> None:
    child = processes.start("read more; exit 3")
    child.let_go()
    arrived(child.output)
    ended(child)
    assert child.status() == 3


def test_a_process_is_watched_until_it_is_killed_and_reaped(processes: Processes) -> None:
    child = processes.start("read more")
    assert child.pid in WATCHER._groups
    child.kill()
    assert child.pid not in WATCHER._groups
    assert child._process.returncode == -signal.SIGKILL
    assert all(file.closed for file in child._files)


def test_a_missing_program_is_named_though_its_folder_exists(tmp_path: Path) -> None:
    with pytest.raises(BoxMissing, match="the program 'no-such-program' cannot be started here"):
        BoxProcess(BoxPlan("box", ("no-such-program",), cwd=str(tmp_path)))
