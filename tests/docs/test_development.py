"""The page about development: its project runs under `sedano dev`, and its commands print what it says."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sedano.model.settings import DEV
from tests.docs.pages import page
from tests.stories.dev_project import SECONDS, DevProject

PAGE = page("development.md")
PROMPT = "$ "
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[DevProject]:
    """A project on which nothing runs afterwards."""
    made = DevProject(tmp_path)
    yield made
    made.close()


def test_the_project_of_the_page_runs_and_its_commands_print_what_it_says(project: DevProject, tmp_path: Path) -> None:
    (settings,) = re.findall(r"```toml\n(.*?)```", PAGE.text, re.DOTALL)
    (tmp_path / "pyproject.toml").write_text(settings)
    (tmp_path / "shop.py").write_text(PAGE.blocks[0])
    (starts,), (asks, *printed), (drains, counted) = (block.strip().splitlines() for block in CONSOLE.findall(PAGE.text))
    assert starts == f"{PROMPT}sedano dev"
    report = project.start()
    assert report["webhooks"].keys() == {"till"}
    program, *arguments = shlex.split(asks.removeprefix(PROMPT))
    assert program == "python"
    done = subprocess.run(
        [sys.executable, *arguments], cwd=tmp_path, env=project.environment, text=True, capture_output=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    assert done.stdout.splitlines() == printed, done.stderr
    project.said(r"shop.receipt\[\w{6}\] a receipt for 17$")
    project.said(r'shop.receipt\[\w{6}\] SUCCESS in .*"receipt 17"$')
    assert project.end() == 0
    assert drains == f"{PROMPT}sedano dev --once --json"
    assert {*project.start("--once")} == {*json.loads(counted)}


def test_the_page_names_every_setting() -> None:
    assert {*re.findall(r"`dev\.(\w+)`", PAGE.text)} == {*DEV}
