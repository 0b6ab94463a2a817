"""The page about workers: its project runs under `sedano worker`, its commands are taken, and its options are all of them."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from sedano.cli.verbs.worker import command
from sedano.host.health_server import HealthServer, ServerAddress
from sedano.host.worker_supervisor import GRACE_S
from sedano.model.beats import health
from tests.docs.pages import page
from tests.stories.test_worker_health import probe
from tests.stories.worked_project import SECONDS, WorkedProject

PAGE = page("worker.md")
COMMANDS = [line.removeprefix("$ sedano worker ") for line in re.findall(r"^\$ sedano worker .*", PAGE.text, re.MULTILINE)]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[WorkedProject]:
    """A project on which nothing runs afterwards."""
    made = WorkedProject(tmp_path)
    yield made
    made.close()


def test_the_project_of_the_page_runs_and_ends_as_it_says(project: WorkedProject) -> None:
    (project.folder / "shop.py").write_text(PAGE.blocks[0])
    on_a_file = shlex.split(COMMANDS[1])
    options = on_a_file[: on_a_file.index("--file")]
    run = project.worker(*options).ready()
    assert run.said("the worker is ready")["fields"]["queues"] == ["default", "mail"]
    results = [project.app.send_task("shop.resize", ("a cat", 0.1)), project.app.send_task("shop.welcome", ("Ann",), queue="mail")]
    assert [result.get(timeout=SECONDS) for result in results] == ["a cat is small", "welcome, Ann"]
    assert run.end() == 0
    assert run.said("the worker stops")
    assert run.other == []


def test_the_probes_of_the_page_are_answered() -> None:
    (probes,) = re.findall(r"```yaml\n(.*?)```", PAGE.text, re.DOTALL)
    assert {re.findall(r"--health (\S+)", words)[0].rpartition(":")[2] for words in COMMANDS if "--health" in words} == {"8080"}
    assert {*re.findall(r"port: (\d+)", probes)} == {"8080"}
    server = HealthServer(ServerAddress("127.0.0.1", 0), lambda: health(begun=True, draining=True, stuck=(), looked=0.0))
    try:
        paths = re.findall(r"(\w+)Probe: {httpGet: {path: (/\w+),", probes)
        found = {kind: probe(server.port, path) for kind, path in paths}
    finally:
        server.close()
    assert found == {"liveness": (200, "draining"), "readiness": (503, "draining")}


def test_systemd_accepts_the_unit_of_the_page(tmp_path: Path) -> None:
    (unit,) = re.findall(r"```ini\n(.*?)```", PAGE.text, re.DOTALL)
    (starts,) = re.findall(r"^ExecStart=\S*/sedano worker (.*)$", unit, re.MULTILINE)
    context = command.make_context("worker", shlex.split(starts))
    assert float(re.findall(r"TimeoutStopSec=(\d+)", unit)[0]) > context.params["drain"] + 2 * GRACE_S
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    file = tmp_path / "shop.service"
    file.write_text(unit.replace("/srv/shop/venv/bin/sedano", sys.executable))
    done = subprocess.run([analyze, "verify", "--man=no", str(file)], capture_output=True, text=True, check=False, timeout=SECONDS)
    assert [line for line in done.stderr.splitlines() if "shop.service" in line] == [], done.stderr


@pytest.mark.parametrize("words", COMMANDS)
def test_the_commands_of_the_page_are_taken(words: str) -> None:
    command.make_context("worker", shlex.split(words))


def test_the_table_of_the_page_has_the_options_and_their_defaults() -> None:
    rows = dict(re.findall(r"^\| (?:`-\w`, |`APP`, )?`(--[\w-]+)` \| (.*?) \|", PAGE.text, re.MULTILINE))
    shared = ("code", "stage", "region", "profile", "help", "debug")
    own = [one for one in command.params if isinstance(one, click.Option) and one.name not in shared]
    assert {*rows} == {one.opts[-1] for one in own}
    assert {name: float(text) for name, text in rows.items() if text.isdigit()} == {
        one.opts[-1]: float(str(one.default)) for one in own if one.show_default
    }
