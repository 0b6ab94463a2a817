"""A project that `sedano new` makes: its tests pass with the plugin, linters and mypy find nothing, and its app is discovered."""

import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sedano.cli.projects import TEMPLATES, files
from tests.plugins.pytest_runs import LIBRARY, ROOT, Elsewhere

EACH = pytest.mark.parametrize("template", TEMPLATES)
TASKS = {
    "minimal": ["shop.tasks.greet"], "events": ["shop.tasks.receipt", "shop.tasks.report"], "fastapi": ["shop.tasks.price"],
    "django": ["shop.tasks.confirm"],
}  # fmt: skip
HOUSE = ("--config", str(ROOT / "pyproject.toml"), "--config", "lint.isort.known-first-party=[]")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What mypy knows of the library, shared by all templates."""
    return tmp_path_factory.mktemp("mypy")


def said(folder: Path, *words: str, **more: str) -> str:
    """Run a module of Python in *folder*; return what it printed, or fail with it."""
    environment = {"PATH": os.environ["PATH"], "COLUMNS": "200", **more}
    command = [sys.executable, "-m", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@EACH
def test_its_own_tests_pass_at_every_crash_point(elsewhere: Elsewhere, template: str) -> None:
    elsewhere.write(files("shop", template))
    code, output = elsewhere.run()
    assert code == 0, output
    assert "deaths, and every message doubled" in output


@EACH
def test_every_version_of_pip_can_install_what_its_tests_need(template: str) -> None:
    """`pip install --group` is an option since pip 25.1. Environments of Python 3.11 and 3.12 have an older pip."""
    made = files("shop", template)
    assert any(need == "sedano[dev]" for need in tomllib.loads(made["pyproject.toml"])["project"]["optional-dependencies"]["dev"])
    assert "--group" not in "".join(made.values())


@EACH
def test_what_pip_leaves_in_the_folder_is_neither_committed_nor_deployed(template: str) -> None:
    made = files("shop", template)
    assert {"*.egg-info/", "build/"} <= set(made[".gitignore"].splitlines())
    assert {"/build/", "/dist/"} <= set(made[".sedanoignore"].splitlines())


@EACH
@pytest.mark.parametrize("name", ["shop", "customer-notifications"])
def test_ruff_finds_nothing_by_its_own_rules_nor_by_ours(elsewhere: Elsewhere, template: str, name: str) -> None:
    elsewhere.write(files(name, template))
    said(elsewhere.folder, "ruff", "check", "--no-cache", ".")
    said(elsewhere.folder, "ruff", "check", "--no-cache", *HOUSE, ".")
    said(elsewhere.folder, "ruff", "format", "--no-cache", "--check", ".")


@EACH
def test_mypy_finds_nothing_when_it_is_strict(elsewhere: Elsewhere, cache: Path, template: str) -> None:
    elsewhere.write(files("shop", template))
    assert "Success" in said(elsewhere.folder, "mypy", "--strict", "--cache-dir", str(cache), MYPYPATH=str(LIBRARY))


@EACH
def test_its_app_is_discovered_from_its_folder(elsewhere: Elsewhere, template: str) -> None:
    elsewhere.write(files("shop", template))
    declared = said(elsewhere.folder, "sedano", "discover")
    assert re.findall(r"^(shop\.tasks\.\w+) +default", declared, re.MULTILINE) == TASKS[template]


@EACH
def test_it_runs_on_this_machine_without_further_settings(elsewhere: Elsewhere, template: str) -> None:
    elsewhere.write(files("shop", template))
    environment = {"PATH": os.environ["PATH"], "HOME": str(elsewhere.folder), "PYTHONPATH": str(LIBRARY)}
    command = [sys.executable, "-P", "-m", "sedano", "dev", "--json"]
    with (elsewhere.folder / "dev.log").open("w") as log:
        running = subprocess.Popen(command, cwd=elsewhere.folder, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert running.stdout is not None
        ready = running.stdout.readline()
        assert ready, (elsewhere.folder / "dev.log").read_text()
        assert ("till" in ready) == (template == "events"), ready
    finally:
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
