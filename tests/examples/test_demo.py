"""The demo as a command: a small census on a real endpoint, what it says of bad input, and that Ctrl-C leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from examples.census.flow import LOOK_UPS, STORES
from examples.census.processes import COUNT
from examples.local_run.command import ROOT
from tests.ctrl_c import HEARS_CTRL_C
from tests.examples.processes import interrupted, processes

DEMO = [sys.executable, "-m", "examples.census.demo"]
NO_BROWSER = {**os.environ, "BROWSER": "true %s"}
"""An environment in which "true" is the browser: nothing opens a window."""


def demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return subprocess.run([*DEMO, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def pages_of(running: subprocess.Popen[str]) -> tuple[str, str]:
    """Wait for the address of the pages; return what was printed before it, and the page of the tasks as a browser gets it."""
    assert running.stdout
    shown = ""
    for line in running.stdout:
        if line.startswith("http://"):
            browser = build_opener(HTTPCookieProcessor())
            with browser.open(line.strip()) as first:
                assert "<title>" in first.read().decode()
            with browser.open(urljoin(line, "/tasks")) as listed:
                return shown, listed.read().decode()
        shown += line
    raise AssertionError(f"no address was printed:\n{shown}")


@pytest.mark.parametrize(("arguments", "complaint"), [(("--sources", "nowhere"), "does not exist"), (("--files", "0"), "at least 1")])
def test_bad_input_ends_with_status_one_and_words(arguments: tuple[str, str], complaint: str) -> None:
    done = demo(*arguments)
    assert done.returncode == 1
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.ministack
def test_a_small_census_runs_through_everything_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    command = [*HEARS_CTRL_C, *DEMO, "--files", "20", "--build", str(tmp_path), "--keep"]
    with subprocess.Popen(command, cwd=ROOT, env=NO_BROWSER, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        shown, tasks_page = pages_of(running)
        running.send_signal(signal.SIGINT)
        more, said = running.communicate()
    told = shown + more
    assert running.returncode == 0, told + said
    assert "examples.census.tasks.count_imports" in tasks_page
    summary = json.loads((tmp_path / "summary.json").read_text())
    tasks = summary["tasks"]
    assert (summary["files"], summary["effects"], summary["spark_tasks"]) == (20, tasks, tasks)
    beside = LOOK_UPS + STORES + summary["ticks"]
    assert 20 * 3 + 2 <= tasks - beside <= 20 * 3 + 12, "three a file, the body, and a launch for each page of the header"
    assert summary["ticks"] >= 1
    assert summary["circuit_trips"] >= 1
    assert f"A periodic task ran {summary['ticks']} times, once for each moment" in told
    assert (summary["lost"], summary["double_effects"], summary["spark_mismatches"], summary["chord_body_runs"]) == (0, 0, 0, 1)
    assert summary["events_delivered"] == summary["served_by_processes"] == 20, "one subscriber's queue is served by processes"
    assert summary["served_by_lambda"] == tasks - 20
    assert f"{tasks} effects for {tasks} tasks" in told
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    assert not [command for _, command in processes().values() if str(tmp_path) in command]


@pytest.mark.slow
@pytest.mark.ministack
def test_ctrl_c_ends_it_and_all_that_it_started(tmp_path: Path) -> None:
    rest, started, left = interrupted([*DEMO, "--files", "20", "--build", str(tmp_path)], "the workers count")
    assert any("ministack" in command for command in started)
    assert sum("sedano worker" in command for command in started) == COUNT
    assert "everything that was started is stopped" in rest
    assert left == []
