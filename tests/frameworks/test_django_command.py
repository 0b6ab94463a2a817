"""`manage.py sedano …` runs the verbs for the project's app, with its settings loaded."""

import json
import os
import subprocess
import sys
from pathlib import Path

from sedano.cli.exits import Exit
from sedano.django.management.commands.sedano import of_verbs
from tests.frameworks.conftest import SETTINGS

ROOT = Path(__file__).parents[2]
MANAGE = """import sys
from django.core.management import execute_from_command_line
execute_from_command_line(sys.argv)
"""
CALLED = """
import io
import json
import django
django.setup()
from django.core.management import CommandError, call_command
from sedano.django import configured_app
from sedano.testing import world

printed = io.StringIO()
with world(configured_app()):
    call_command("sedano", "call", "shop.ship", "7", "--wait", stdout=printed)
    print("printed", [json.loads(printed.getvalue())])
    try:
        call_command("sedano", "result", "nowhere", stderr=io.StringIO())
    except CommandError as error:
        print(f"{error}: {error.returncode}")
"""


def manage(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run manage.py of a project in *folder*, whose settings are named by an option only."""
    (folder / "manage.py").write_text(MANAGE)
    paths = os.pathsep.join([str(ROOT), str(ROOT / "layers/sedano/python")])
    every = {name: value for name, value in os.environ.items() if not name.startswith("DJANGO_")} | {"PYTHONPATH": paths}
    command = [sys.executable, "manage.py", "sedano", *words]
    return subprocess.run(command, cwd=folder, env=every, capture_output=True, text=True, check=False, timeout=300)


def test_a_verb_of_manage_py_knows_the_tasks_that_django_discovers(tmp_path: Path) -> None:
    done = manage(tmp_path, "discover", "--settings", SETTINGS, "--json")
    assert done.returncode == Exit.DONE, done.stderr
    assert {"mailing.send", "shop.aship", "shop.ship"} <= set(json.loads(done.stdout)["tasks"])


def test_manage_py_exits_with_the_code_of_the_verb_and_shows_its_help(tmp_path: Path) -> None:
    unknown = manage(tmp_path, f"--settings={SETTINGS}", "queue")
    assert (unknown.returncode, "did you mean queues?" in unknown.stderr) == (Exit.USAGE, True), unknown.stderr
    shown = manage(tmp_path, "call", "--help", f"--settings={SETTINGS}")
    assert (shown.returncode, "--wait" in shown.stdout) == (Exit.DONE, True), shown.stderr


def test_the_options_of_django_are_taken_out_and_no_others() -> None:
    words = ["call", "shop.ship", "--settings", "a.b", "--set", "memory=1", "--pythonpath=src", "--stage", "dev"]
    assert of_verbs(words) == ["call", "shop.ship", "--set", "memory=1", "--stage", "dev"]


def test_call_command_runs_a_verb_over_the_connected_app_and_raises_its_exit_code() -> None:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "layers/sedano/python")])
    every = {**os.environ, "PYTHONPATH": paths, "DJANGO_SETTINGS_MODULE": SETTINGS}
    done = subprocess.run([sys.executable, "-c", CALLED], env=every, capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout.splitlines() == ["printed ['parcel 7']", "sedano result nowhere exited with 3: 3"], done.stderr
