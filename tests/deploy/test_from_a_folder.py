"""From `sedano new` to production without a clone: tested, developed, deployed, called, explained, changed, deployed again, destroyed.

The account enforces IAM. The user's environment has the package, its two dependencies, click and pytest, and a newer typeguard than the
packages of the CDK take: no CDK, no pip, and no Node on PATH.
"""

import importlib.util
import json
import os
import shlex
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sedano.local import Endpoint
from sedano.local.stage import ENDPOINT_PYTHON
from sedano.local.synthesis import ROOT
from tests.deploy.at_home import DevAtHome, Folder, post

SETTINGS = '[tool.sedano.stage.dev]\nmemory = 256\n\n[tool.sedano]\nignore = ["drafts/"]\n'
LOCAL = ("--set", "local=true")
"""Leaves out the services that the endpoint does not know."""
CALL = "from shop.tasks import greet; print(greet.delay('Ada').get(timeout=120))"
MARK = "from shop.tasks import app; from sedano.engine.deployments import last; print(last(app.outlet.ports).at)"
INSTALLED = (
    "aws_lambda_powertools", "boto3", "botocore", "click", "dateutil", "jmespath", "s3transfer", "six", "typing_extensions", "urllib3",
    "pytest", "_pytest", "pluggy", "iniconfig", "packaging", "py", "pygments",
)  # fmt: skip
NEWER = "4.6.0"
"""A version of typeguard that the CDK's packages refuse beside them: they pin 2.13.3. A synthesis that imports this one fails."""
MOST_CHANGES = 8
"""A change of one line touches the app's layer and the functions that have it."""


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
        for one in (place, *place.parent.glob(f"{name}-*.dist-info")):
            (site / one.name).symlink_to(one)
    (site / "typeguard").mkdir()
    (site / "typeguard" / "__init__.py").write_text("raise ImportError('the project has another typeguard than the CDK')\n")
    (site / f"typeguard-{NEWER}.dist-info").mkdir()
    (site / f"typeguard-{NEWER}.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: typeguard\nVersion: {NEWER}\n")
    return folder / "venv" / "bin" / "python"


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """An empty account in which each role may do what its policies allow."""
    with Endpoint(ENDPOINT_PYTHON, tmp_path_factory.mktemp("endpoint"), enforce_iam=True) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path, environment: Path, endpoint: Endpoint) -> Folder:
    """A project that `sedano new` made, an empty home, and no index from which pip could download anything."""
    home, project = tmp_path / "home", tmp_path / "shop"
    home.mkdir()
    variables = {
        **endpoint.environment,
        "HOME": str(home),
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull,
        "PATH": str(environment.parent),
        "SEDANO_DEPLOY_PYTHON": sys.executable,
        "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(Path.home() / ".cache" / "aws" / "jsii" / "package-cache"),
        "CDK_VALIDATION": "false",
    }
    Folder(tmp_path, environment, variables).sedano("new", project.name)
    made = Folder(project, environment, variables)
    made.edit("pyproject.toml", "[tool.sedano]\n", SETTINGS)
    return made


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
    assert "there is no terminal to ask on; nothing was changed; add --yes" in refused.stderr
    unprepared = folder.sedano("diff", *LOCAL, ends_with=1)
    assert "is not prepared for deployments: run `sedano bootstrap` once" in unprepared.stderr
    assert not (folder.path / ".sedano" / "deploy").exists(), "that is known before anything is synthesised"
    shown = folder.sedano("bootstrap", "--dry-run").stderr
    assert "create 1 stack there, CDKToolkit, whose deployments have arn:aws:iam::aws:policy/AdministratorAccess" in shown
    assert "sedano bootstrap: nothing was changed (--dry-run)" in shown
    assert "sedano deploy: nothing was changed (--dry-run)" in folder.sedano("deploy", *LOCAL, "--dry-run").stderr
    assert _stacks(endpoint) == set()
    assert "reason: a first stage" in folder.sedano("bootstrap", "--yes", "--reason", "a first stage").stderr
    assert _stacks(endpoint) == {"CDKToolkit"}


def _called(folder: Folder, **outputs: str) -> str:
    """Return what a call of the project's task gives, by the command and by a program; the command's task is explained."""
    task = folder.sedano("call", "greet", "Ada", **outputs).stdout.split()[-1]
    assert "SUCCESS" in _explained(folder, task, **outputs)
    waited = json.loads(folder.sedano("call", "greet", "Ada", "--wait", "--timeout", "120", **outputs).stdout)
    assert folder.python_says("-c", CALL, **outputs).stdout.strip() == waited
    return str(waited)


def _explained(folder: Folder, task: str, **outputs: str) -> str:
    folder.sedano("result", task, "--wait", "--timeout", "120", **outputs)
    return folder.sedano("explain", task, **outputs).stdout


def _developed(folder: Folder) -> None:
    """On this machine: a task, one that fails, an edit while `sedano dev` runs, a webhook, and what the other verbs say about them."""
    folder.add_till()
    dev = DevAtHome(folder)
    at_home = folder._replace(environment=dev.environment)
    try:
        report = dev.start()
        assert at_home.sedano("call", "greet", "Ada", "--wait").stdout == '"Hello, Ada!"\n'
        assert "no greeting for Ada" in at_home.sedano("call", "broken", "Ada", "--wait", ends_with=1).stderr
        assert dev.said(r"broken\[\w{6}\] FAILURE after .*: ValueError: no greeting for Ada$")
        assert dev.said(r'^ +File ".*shop/tasks.py", line \d+, in broken$')
        _reloaded(at_home, dev)
        assert post(report["webhooks"]["till"], "17") == 202
        assert dev.said(r'receipt\[\w{6}\] SUCCESS in .*: "receipt 17"$')
        assert post(report["webhooks"]["till"], "18", "a guess") == 401
        assert "ValueError" in at_home.sedano("failures").stdout
        assert dev.end() == 0
    finally:
        dev.close()
    gone = at_home.sedano("call", "greet", "Ada", ends_with=1)
    assert "without AWS, start `sedano dev` in the project's folder" in gone.stderr


def _reloaded(folder: Folder, dev: DevAtHome) -> None:
    """Save another greeting, wait for the new code, and let a program and the verb explain call it."""
    before = len(dev.lines)
    folder.edit("shop/tasks.py", "Hello", "Welcome")
    dev.said("shop/tasks.py changed: reloading", before)
    dev.said("ready in .*: 3 tasks", before)
    assert folder.python_says("-c", CALL).stdout == "Welcome, Ada!\n"
    task = folder.sedano("call", "greet", "Ada").stdout.strip()
    assert "SUCCESS" in _explained(folder, task)
    folder.edit("shop/tasks.py", "Welcome", "Hello")


def _changed(folder: Folder, endpoint: Endpoint, outputs: dict[str, str]) -> None:
    """A change of one line is shown, refused by its user, and deployed."""
    folder.edit("shop/tasks.py", "Hello", "Good day")
    first = _mark(folder, outputs)
    assert first > 0, "the first deployment was marked"
    assert "sedano-dev-core   ~" in folder.sedano("deploy", *LOCAL, "--dry-run").stderr
    assert _change_sets(endpoint) == set(), "after a dry run too"
    assert folder.answers("n", "deploy", *LOCAL) == 5
    assert _change_sets(endpoint) == set(), "after a no the change sets are gone"
    assert folder.python_says("-c", CALL, **outputs).stdout.strip() == "Hello, Ada!"
    assert _mark(folder, outputs) == first, "neither a dry run nor a no is a deployment"
    changed = folder.sedano("deploy", *LOCAL, "--yes", "--json", "--no-trial")
    assert _mark(folder, outputs) > first
    (stack,) = [one for one in json.loads(changed.stdout)["stacks"] if one["changes"]]
    assert stack["stack"] == "sedano-dev-core"
    assert len(stack["changes"]) <= MOST_CHANGES
    assert folder.python_says("-c", CALL, **outputs).stdout.strip() == "Good day, Ada!"
    assert "worker" in {line.split()[1] for line in folder.sedano("logs", "--since", "1h").stdout.splitlines()}


def _mark(folder: Folder, outputs: dict[str, str]) -> float:
    """When the last deployment was, as the stage keeps it (epoch s)."""
    return float(folder.python_says("-c", MARK, **outputs).stdout)


def _diagnosed(folder: Folder, endpoint: Endpoint, outputs: dict[str, str]) -> None:
    """`sedano doctor` finds what is planted, and names the command that cures it."""
    healthy = _findings(folder, ends_with=0)
    assert {one["grade"] for one in healthy.values()} == {"ok"}, healthy
    endpoint.session().client("sqs", endpoint_url=endpoint.url).send_message(QueueUrl=outputs["SEDANO_PARKED_QUEUE"], MessageBody="{}")
    found = _findings(folder, ends_with=0, SEDANO_EVENTS_QUEUE="https://elsewhere")
    assert {name: one["do"] for name, one in found.items() if one["grade"] != "ok"} == {
        "variables": 'run `eval "$(sedano outputs)"`', "queue of parked messages": "look with `sedano parked list`",
    }  # fmt: skip
    missing = _findings(folder, "--stage", "prod", ends_with=6)
    assert missing["stack sedano-prod-core"]["do"].startswith("run `sedano deploy --stage prod`")
    endpoint.session().client("dynamodb", endpoint_url=endpoint.url).delete_table(TableName=outputs["SEDANO_CONTROL_TABLE"])
    gone = _findings(folder, ends_with=6)["control table"]
    assert gone["grade"] == "fault"
    assert "aws cloudformation detect-stack-drift --stack-name sedano-dev-state" in gone["do"]


def _findings(folder: Folder, *words: str, ends_with: int, **more: str) -> dict[str, dict[str, str]]:
    """What `sedano doctor` found, by what it checked."""
    said = folder.sedano("doctor", "--json", *words, ends_with=ends_with, **more).stdout
    return {one["checked"]: one for one in json.loads(said)["items"]}


def _destroyed(folder: Folder, endpoint: Endpoint) -> None:
    """It is shown, asked for, done, and cannot be done again."""
    assert "deletes sedano-dev-core" in folder.sedano("destroy", "--dry-run").stderr
    assert "sedano-dev-core" in _stacks(endpoint)
    assert "destroy of the stage dev, reason: it was a trial" in folder.sedano("destroy", "--yes", "--reason", "it was a trial").stderr
    assert _stacks(endpoint) == {"CDKToolkit"}
    gone = folder.sedano("destroy", "--yes", ends_with=1)
    assert "the stage dev is not deployed" in gone.stderr


@pytest.mark.timeout(900)
def test_a_new_project_without_a_clone_is_tested_developed_deployed_called_changed_and_destroyed_on_ministack(
    folder: Folder, endpoint: Endpoint
) -> None:
    made = {path.name for path in folder.path.iterdir()}
    assert "passed" in folder.python_says("-m", "pytest", "-q", "-p", "no:cacheprovider").stdout
    _developed(folder)
    _prepared(folder, endpoint)
    deployed = folder.sedano("deploy", *LOCAL, "--yes", "--json")
    assert "cannot be assumed" not in deployed.stderr, "the roles of the bootstrap deploy"
    outputs = json.loads(folder.sedano("outputs", "--json").stdout)
    assert json.loads(deployed.stdout)["outputs"] == outputs
    assert json.loads(deployed.stdout)["task_s"] > 0
    assert _called(folder, **outputs) == "Hello, Ada!"

    _changed(folder, endpoint, outputs)
    _diagnosed(folder, endpoint, outputs)
    _destroyed(folder, endpoint)
    assert {path.name for path in folder.path.iterdir()} - made <= {".sedano", "__pycache__"}


@pytest.mark.timeout(300)
def test_sedano_dev_runs_the_stacks_of_a_project_on_this_machine_without_a_clone_on_ministack(tmp_path: Path, environment: Path) -> None:
    """The deployed functions run its task, the user's other packages stay out of the endpoint, and the end leaves no credentials."""
    home = tmp_path / "home"
    home.mkdir()
    variables = {
        "HOME": str(home), "PATH": f"{environment.parent}:/usr/bin:/bin", "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull,
        "SEDANO_DEPLOY_PYTHON": sys.executable, "SEDANO_MINISTACK_PYTHON": str(ENDPOINT_PYTHON),
        "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(Path.home() / ".cache" / "aws" / "jsii" / "package-cache"),
    }  # fmt: skip
    Folder(tmp_path, environment, variables).sedano("new", "shop")
    dev = DevAtHome(Folder(tmp_path / "shop", environment, variables))
    try:
        report = dev.start("--aws")
        assert report["stacks"] == ["sedano-dev-state", "sedano-dev-core"]
        file = Path(report["environment"])
        assert file.stat().st_mode & 0o077 == 0
        exported = dict(shlex.split(line)[1].split("=", 1) for line in file.read_text().splitlines())
        user = Folder(tmp_path / "shop", environment, {**variables, **exported})
        assert user.sedano("call", "greet", "Ada", "--wait", "--timeout", "120").stdout == '"Hello, Ada!"\n'
        seen = {path.name for path in (file.parent / "tmp" / "library").iterdir()}
        assert seen == {"sedano"}
        assert dev.end() == 0
        assert not file.exists()
        assert "Could not connect to the endpoint URL" in user.sedano("queues", ends_with=69).stderr
    finally:
        dev.close()
