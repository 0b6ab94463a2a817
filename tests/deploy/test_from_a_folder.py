"""A user's folder with one module, the installed package, and no clone: prepared, deployed, called, changed, deployed again, destroyed.

The account enforces IAM. The user's environment has the package, its two dependencies and click: no CDK, no pip, and no Node on PATH.
"""

import importlib.util
import json
import os
import pty
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sedano.local import Endpoint
from sedano.local.stage import ENDPOINT_PYTHON
from sedano.local.synthesis import ROOT

MODULE = """from sedano import Sedano

app = Sedano("shop")


@app.task
def add(a: int, b: int) -> int:
    return a + b
"""
SETTINGS = '[tool.sedano]\napp = "shop:app"\nignore = ["drafts/"]\n\n[tool.sedano.stage.dev]\nmemory = 256\n'
LOCAL = ("--set", "local=true")
"""Leaves out the services that the endpoint does not know."""
CALL = "import shop; print(shop.add.delay(2, 3).get(timeout=120))"
INSTALLED = (
    "aws_lambda_powertools", "boto3", "botocore", "click", "dateutil", "jmespath", "s3transfer", "six", "typing_extensions", "urllib3",
)  # fmt: skip
MOST_CHANGES = 8
"""A change of one line touches the app's layer and the functions that have it."""


class Folder(NamedTuple):
    """The user's project, the Python of its environment, and the variables that its commands see."""

    path: Path
    python: Path
    environment: dict[str, str]

    def python_says(self, *words: str, ends_with: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        """Run the environment's Python in the folder, without a terminal."""
        command, environment = [str(self.python), *words], {**self.environment, **more}
        done = subprocess.run(command, cwd=self.path, env=environment, input="", capture_output=True, text=True, check=False)
        assert done.returncode == ends_with, done.stdout + done.stderr
        return done

    def sedano(self, *words: str, ends_with: int = 0) -> subprocess.CompletedProcess[str]:
        """Give one command of sedano."""
        return self.python_says("-m", "sedano", *words, ends_with=ends_with)

    def answers(self, answer: str, *words: str) -> int:
        """Give one command of sedano on a terminal, with the answer to its question; return its exit code."""
        ours, theirs = pty.openpty()
        os.write(ours, f"{answer}\n".encode())
        command = [str(self.python), "-m", "sedano", *words]
        try:
            done = subprocess.run(command, cwd=self.path, env=self.environment, stdin=theirs, capture_output=True, text=True, check=False)
        finally:
            os.close(ours)
            os.close(theirs)
        assert "Deploy the stage dev? Type y for yes" in done.stderr
        return done.returncode


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment in which the wheel is installed, with what it needs and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, capture_output=True, check=True)
    venv.create(folder / "venv", with_pip=False)
    (site,) = (folder / "venv" / "lib").glob("python3*/site-packages")
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(site)
    for name in INSTALLED:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        place = Path(spec.origin).parent if spec.submodule_search_locations else Path(spec.origin)
        (site / place.name).symlink_to(place)
    return folder / "venv" / "bin" / "python"


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """An empty account in which each role may do what its policies allow."""
    with Endpoint(ENDPOINT_PYTHON, tmp_path_factory.mktemp("endpoint"), enforce_iam=True) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path, environment: Path, endpoint: Endpoint) -> Folder:
    """The project, and a home in which the packages of the library's layer were downloaded before."""
    home, project = tmp_path / "home", tmp_path / "project"
    (home / ".cache" / "sedano").mkdir(parents=True)
    (ROOT / "build" / "packages").mkdir(parents=True, exist_ok=True)
    (home / ".cache" / "sedano" / "packages").symlink_to(ROOT / "build" / "packages")
    project.mkdir()
    (project / "shop.py").write_text(MODULE)
    (project / "pyproject.toml").write_text(SETTINGS)
    (project / "test_shop.py").write_text("import pytest\n")
    variables = {
        **endpoint.environment,
        "HOME": str(home),
        "PATH": str(environment.parent),
        "SEDANO_DEPLOY_PYTHON": sys.executable,
        "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(Path.home() / ".cache" / "aws" / "jsii" / "package-cache"),
        "CDK_VALIDATION": "false",
    }
    return Folder(project, environment, variables)


def _change_sets(endpoint: Endpoint) -> set[str]:
    """The change sets that were made and not executed."""
    cloudformation: Any = endpoint.session().client("cloudformation", endpoint_url=endpoint.url)
    every = [one for name in _stacks(endpoint) for one in cloudformation.list_change_sets(StackName=name)["Summaries"]]
    return {one["ChangeSetName"] for one in every if one["ExecutionStatus"] == "AVAILABLE"}


def _stacks(endpoint: Endpoint) -> set[str]:
    cloudformation: Any = endpoint.session().client("cloudformation", endpoint_url=endpoint.url)
    return {one["StackName"] for one in cloudformation.describe_stacks()["Stacks"]}


def _prepared(folder: Folder, endpoint: Endpoint) -> None:
    """Nothing is done without an answer, or in an account that is not prepared; then prepare it."""
    refused = folder.sedano("deploy", ends_with=2)
    assert "there is no terminal to ask on: give --yes" in refused.stderr
    unprepared = folder.sedano("diff", *LOCAL, ends_with=1)
    assert "is not prepared for deployments: run `sedano bootstrap` once" in unprepared.stderr
    assert not (folder.path / ".sedano").exists(), "that is known before anything is synthesised"
    folder.sedano("bootstrap", "--yes")
    assert _stacks(endpoint) == {"CDKToolkit"}


@pytest.mark.timeout(900)
def test_a_folder_without_a_clone_is_deployed_called_changed_and_destroyed_on_ministack(folder: Folder, endpoint: Endpoint) -> None:
    _prepared(folder, endpoint)
    deployed = folder.sedano("deploy", *LOCAL, "--yes", "--json")
    assert "cannot be assumed" not in deployed.stderr, "the roles of the bootstrap deploy"
    outputs = json.loads(folder.sedano("outputs", "--json").stdout)
    assert json.loads(deployed.stdout)["outputs"] == outputs
    assert json.loads(deployed.stdout)["task_s"] > 0
    assert folder.python_says("-c", CALL, **outputs).stdout.strip() == "5"

    (folder.path / "shop.py").write_text(MODULE.replace("a + b", "a * b"))
    assert folder.answers("n", "deploy", *LOCAL) == 5
    assert _change_sets(endpoint) == set(), "after a no the change sets are gone"
    assert folder.python_says("-c", CALL, **outputs).stdout.strip() == "5"
    changed = folder.sedano("deploy", *LOCAL, "--yes", "--json", "--no-trial")
    (stack,) = [one for one in json.loads(changed.stdout)["stacks"] if one["changes"]]
    assert stack["stack"] == "sedano-dev-core"
    assert len(stack["changes"]) <= MOST_CHANGES
    assert folder.python_says("-c", CALL, **outputs).stdout.strip() == "6"
    assert "worker" in {line.split()[1] for line in folder.sedano("logs", "--since", "1h").stdout.splitlines()}

    folder.sedano("destroy", "--yes")
    assert _stacks(endpoint) == {"CDKToolkit"}
    gone = folder.sedano("destroy", "--yes", ends_with=1)
    assert "the stage dev is not deployed" in gone.stderr
    assert {path.name for path in folder.path.iterdir()} <= {"shop.py", "test_shop.py", "pyproject.toml", ".sedano", "__pycache__"}
