"""The pages inside `sedano dev`: they show what its worker runs, and a reload, a death and code that does not load leave them open."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sedano.cli.exits import Exit
from sedano.model.messages.lineage import rerun_id
from tests.ctrl_c import HEARS_CTRL_C
from tests.stories.dev_project import CODE, COMMAND, SECONDS, DevProject
from tests.stories.page_client import Browser
from tests.waiting import until

MORE = CODE.replace("import Retry,", "import Breaker, Retry,").replace('Sedano("shop",', 'Sedano("shop", queues=("default", "mail"),') + (
    '\n\n@app.task(name="guarded", circuit=Breaker(shared=True), concurrency=2)\ndef guarded() -> None:\n    return None\n'
)
LOADED = "import sys, sedano.dev.command; print([one for one in ('sedano.web.server', 'sedano.views.screens') if one in sys.modules])"


class Visited(DevProject):
    """A project whose pages a *browser* has opened."""

    browser: Browser

    def visit(self) -> None:
        """Open the address that was printed."""
        self.open(self.said(" pages http://").rpartition(" ")[2])

    def open(self, address: str) -> None:
        """Open the *address* of a server."""
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/-/open\?token=[\w-]{43})", address)
        assert found is not None, address
        self.browser = Browser(int(found[1]))
        assert self.browser.ask(found[2]).status == 303

    def read(self, page: str) -> str:
        """Return the JSON of a page as text."""
        answer = self.browser.ask(page)
        assert answer.status == 200, answer.body
        return answer.body.decode()


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Visited]:
    """A project on which nothing runs afterwards."""
    made = Visited(tmp_path)
    yield made
    made.close()


def test_the_pages_outlive_a_reload_code_that_does_not_load_and_a_dead_worker(project: Visited) -> None:
    report = project.start()
    project.visit()
    assert report["pages"].startswith(f"http://127.0.0.1:{project.browser.port}/-/open?token=")
    assert project.beside().send_task("noisy", ("tea",), task_id="first").get(timeout=SECONDS) == "tea"
    until(lambda: '"first"' in project.read("/tasks.json"))
    assert "<title>Now · shop · sedano</title>" in project.read("/")

    before = len(project.lines)
    project.save(2, MORE)
    project.said("ready in .*: 8 tasks", before)
    assert [one["queue"] for one in json.loads(project.read("/queues.json"))["rows"]] == ["default", "mail"]
    assert [(one["name"], one["shared"]) for one in json.loads(project.read("/circuits.json"))["rows"]] == [("guarded", True)]

    before = len(project.lines)
    project.save(3, "import nothing_of_this_name\n")
    project.said("does not load; messages wait until it does", before)
    project.beside().send_task("version", task_id="waits")
    assert json.loads(project.read("/queues.json"))["rows"][0]["wait"] == 1
    assert [one["queue"] for one in json.loads(project.read("/queues.json"))["rows"]] == ["default", "mail"]

    project.save(4)
    assert project.beside().result("waits").get(timeout=SECONDS) == 4
    assert project.end() == 0
    with pytest.raises(ConnectionRefusedError):
        project.browser.ask("/")


def test_the_pages_change_the_project_and_each_change_is_printed(project: Visited) -> None:
    project.start()
    project.visit()
    project.beside().send_task("fails", task_id="first")
    until(lambda: json.loads(project.read("/task.json?id=first"))["state"] == "FAILURE")
    assert b'href="/retry?kind=id&amp;name=first"' in project.browser.ask("/task?id=first").body
    made = project.browser.change("/retry?kind=id&name=first", "there is tea")
    assert (made.status, b"first runs again as " in made.body) == (200, True)
    project.said(r"changed by \S+: retry first, reason: there is tea")
    until(lambda: json.loads(project.read(f"/task.json?id={rerun_id('first')}"))["state"] == "FAILURE")
    assert project.browser.change("/pause?kind=queue&name=default", "closed").status == 200
    assert json.loads(project.read("/queues.json"))["rows"][0]["paused"] is True
    assert project.browser.change("/resume?kind=queue&name=default", "open").status == 200
    assert project.browser.change("/limit?kind=concurrency&name=noisy&value=1", "quiet").status == 200
    assert b"no parked message matches" in project.browser.ask("/redrive?kind=all&name=all").body


def test_a_worker_that_is_killed_leaves_the_pages_open_and_they_show_its_task(project: Visited) -> None:
    project.start()
    project.visit()
    go = project.folder / "go"
    running = project.beside().send_task("slow", (str(go),), task_id="held")
    worker = project.worker()
    os.kill(worker, signal.SIGKILL)
    project.said("the worker ended: signal 9; a new one starts")
    assert json.loads(project.read("/task.json?id=held"))["state"] == "RUNNING"
    go.touch()
    assert running.get(timeout=SECONDS) == 1


def test_the_pages_are_there_while_the_code_does_not_load_for_the_first_time(project: Visited) -> None:
    project.save(1, "import nothing_of_this_name\n")
    project.begin()
    project.said("does not load")
    project.visit()
    assert "<title>Now · app · sedano</title>" in project.read("/")


def test_without_pages_nothing_listens_and_a_port_can_be_chosen(project: Visited) -> None:
    assert project.start("--no-web")["pages"] == ""
    assert not [line for line in project.lines if " pages http" in line]
    assert project.end() == 0
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = project.command("--web-port", str(port))
        said = refused.communicate(timeout=SECONDS)[1]
        assert re.search(f"port {port}: Address already in use.*; give another one with --web-port, or 0 for a free one", said)
    assert refused.returncode == Exit.USAGE
    assert f":{port}/" in project.start("--web-port", str(port))["pages"]


def test_the_pages_of_sedano_web_beside_it_read_the_same_state(project: Visited) -> None:
    project.start("--no-web")
    assert project.beside().send_task("noisy", ("tea",), task_id="first").get(timeout=SECONDS) == "tea"
    words = [*COMMAND[:-1], "web", "--no-open"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*HEARS_CTRL_C, *words], cwd=project.folder, env=project.environment, **pipes) as web:  # type: ignore[call-overload]
        project.open(web.stdout.readline().rstrip("\n"))
        until(lambda: '"first"' in project.read("/tasks.json"))
        assert json.loads(project.read("/task.json?id=first"))["state"] == "SUCCESS"
        web.send_signal(signal.SIGINT)
        assert web.wait(SECONDS) == Exit.INTERRUPTED


@pytest.mark.parametrize("other", ["--no-web", "--once"])
def test_a_port_for_pages_that_are_not_served_is_refused(project: Visited, other: str) -> None:
    refused = project.command("--web-port", "8123", other)
    assert f"--web-port: with {other} there are no pages" in refused.communicate(timeout=SECONDS)[1]
    assert refused.returncode == Exit.USAGE


def test_pages_without_a_visitor_are_not_loaded(project: Visited) -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], env=project.environment, text=True, capture_output=True, check=True)
    assert done.stdout == "[]\n"
