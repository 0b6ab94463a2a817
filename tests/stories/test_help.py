"""Help, and the command without click: quick, and nothing of AWS or of the app is loaded for it."""

import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import aws_lambda_powertools
import pytest
import typing_extensions

from infra.discovery import DiscoveryError, discovered
from sedano.cli.verb_table import VERBS
from sedano.cli.verbs import cluster, parked, top
from sedano.engine.parked import redrive
from sedano.views import cluster as cluster_view
from sedano.views.screens import LISTED

LIBRARY = Path(__file__).parents[2] / "layers/sedano/python"
LIMIT = 80 / 44
"""Help may take 80 ms of CPU where an interpreter that imports click takes 44. An import of the app alone makes it more than 3 times."""
ROUNDS = 8
"""A machine that does other work gets so many comparisons; one must be within the limit."""
HELP = """
import resource, sys
from sedano.cli import main
status = main(sys.argv[1:])
heavy = [name for name in sys.modules if name.startswith(("boto3", "botocore", "sedano.app", "sedano.engine", "sedano.aws", "asyncio"))]
used = resource.getrusage(resource.RUSAGE_SELF)
print(status, heavy, file=sys.stderr)
print(used.ru_utime + used.ru_stime, file=sys.stderr)
"""
PANTRY = """
try:
    import click
except ImportError:
    from sedano import Sedano

app = Sedano("pantry")
"""
"""An app that is one only where click is not installed."""
SPENT = "import resource, sys; used = resource.getrusage(resource.RUSAGE_SELF); print(used.ru_utime + used.ru_stime, file=sys.stderr)"


def said(program: str, *arguments: str) -> str:
    """What *program* writes to stderr."""
    variables = {"PYTHONPATH": os.pathsep.join([str(LIBRARY), *filter(None, sys.path)]), "PATH": os.environ["PATH"]}
    run = subprocess.run([sys.executable, "-c", program, *arguments], env=variables, capture_output=True, text=True, check=True)
    return run.stderr


def spent(program: str, *arguments: str) -> float:
    """The CPU (s) that a process of *program* takes."""
    return float(said(f"{program}\n{SPENT}", *arguments).split()[-1])


@pytest.fixture(scope="module")
def clicks() -> list[float]:
    """The CPU (s) of interpreters that import click, measured for all verbs."""
    return [spent("import click") for _ in range(3)]


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_loads_no_aws_client_no_app_and_no_engine_and_costs_little_more_than_click(verb: str, clicks: list[float]) -> None:
    arguments, ratios = [*filter(None, [verb]), "--help"], []
    while min(ratios, default=LIMIT + 1) > LIMIT and len(ratios) < ROUNDS:
        loaded, helped = said(HELP, *arguments).splitlines()
        assert loaded == "0 []"
        ratios.append(float(helped) / (spent("import click") if ratios else median(clicks)))
    assert min(ratios) <= LIMIT, ratios


def test_the_numbers_in_the_help_are_those_of_the_view() -> None:
    assert (cluster.LATEST, cluster.DAYS, parked.MOST) == (cluster_view.LATEST, cluster_view.DAYS, redrive.MOST)
    assert top.SCREENS == LISTED


def test_the_synthesis_discovers_an_app_where_click_is_not_installed(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "pantry.py").write_text(PANTRY)
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "aws_lambda_powertools").symlink_to(Path(aws_lambda_powertools.__file__).parent)
    (tmp_path / "packages" / "typing_extensions.py").symlink_to(typing_extensions.__file__)
    places = [LIBRARY, tmp_path / "packages"]
    assert discovered("pantry:app", tmp_path / "app", places)["name"] == "pantry"
    with pytest.raises(DiscoveryError, match="has no attribute 'gone'; expected module:attribute of a Sedano app"):
        discovered("pantry:gone", tmp_path / "app", places)


def test_without_click_the_command_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise ModuleNotFoundError(\"No module named 'click'\", name='click')\n")
    variables = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(LIBRARY), *filter(None, sys.path)]), "PATH": os.environ["PATH"]}
    run = subprocess.run([sys.executable, "-m", "sedano", "cluster"], env=variables, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == 'sedano: the command line needs click: pip install "sedano[dev]"\n'
