"""`cdk deploy` is a first-class way: the commands and blocks of docs/deploy.md, given to the CDK's own command line, where IAM is enforced.

From this repository by `cdk.json`, from a CDK app of a user with two stages, one of them in a `cdk.Stage`, and with the cloud assembly that
`sedano deploy` writes.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import aws_lambda_powertools
import pytest

from sedano.local import Endpoint
from sedano.local.stage import ENDPOINT_PYTHON
from sedano.local.synthesis import ROOT
from tests.trust.cdk_cli import BLOCKS, PAGE, Cdk, shown

SHOP = BLOCKS["shop.py"]
CALL = "from shop import price; print(price.delay('tea', 2).get(timeout=120))"
LOCAL = "StageConfig(local=True, "
"""Leaves out the services that the endpoint does not know."""
EMPTIED = ", empty_buckets=True"
"""A custom resource of the CDK does this, and the endpoint never ends the creation of one."""
HERE = {f"sedano-{stage}-{part}" for stage in ("dev", "prod") for part in ("state", "core")}


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Endpoint]:
    """An empty account in which each role may do what its policies allow."""
    with Endpoint(ENDPOINT_PYTHON, tmp_path / "endpoint", enforce_iam=True) as running:
        yield running


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """The folder of a user, with the application of the page in `demo`."""
    folder = tmp_path / "user"
    (folder / "demo").mkdir(parents=True)
    (folder / "demo" / "shop.py").write_text(SHOP)
    return folder


def _installed(tmp_path: Path) -> Path:
    """Return a directory with the wheel, unpacked, and nothing of this repository."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    (built,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(built).extractall(tmp_path / "installed")
    return tmp_path / "installed"


def _app_of_the_page(user: Path, library: Path) -> list[str]:
    """Write the CDK app of the page and its function; return the word that names it."""
    block = BLOCKS["app.py"]
    assert block.count("StageConfig(stage=") == 2
    assert block.count(EMPTIED) == 1
    (user / "app.py").write_text(block.replace("StageConfig(", LOCAL).replace(EMPTIED, ""))
    shutil.copytree(library / "sedano", user / "web" / "sedano", ignore=shutil.ignore_patterns("deployed", "__pycache__"))
    shutil.copytree(Path(aws_lambda_powertools.__file__).parent, user / "web" / "aws_lambda_powertools")
    (user / "web" / "web.py").write_text(BLOCKS["web.py"])
    (user / "web" / "shop.py").write_text(SHOP)
    return ["--app", f"{sys.executable} -P app.py"]


@pytest.mark.always
@pytest.mark.timeout(900)
def test_an_app_of_ones_own_deploys_two_stages_and_a_function_that_calls_tasks(user: Path, endpoint: Endpoint, tmp_path: Path) -> None:
    cdk = Cdk(endpoint, tmp_path, _installed(tmp_path))
    app = _app_of_the_page(user, tmp_path / "installed")
    cdk.prepare(user)
    dev, live = (words[-1] for words in shown("deploy") if "python app.py" in words)
    ((*_, gone),) = shown("destroy")
    cdk.run(user, "deploy", *app, dev, live)
    assert cdk.stacks() == {*HERE, "Live-Site"}
    (web,) = [one["FunctionName"] for one in cdk.client("lambda").list_functions()["Functions"] if "Site" in one["FunctionName"]]
    answer = cdk.client("lambda").invoke(FunctionName=web, Payload=json.dumps({"item": "tea", "count": 2}))
    said = answer["Payload"].read().decode()
    assert said == "6", said  # its role may call a task and read the result
    assert cdk.python(user / "demo", "-c", CALL, **cdk.outputs(user, "dev")).strip() == "6"

    cdk.run(user, "destroy", *app, gone)
    assert cdk.stacks() == {"sedano-prod-state", "sedano-prod-core", "Live-Site"}


@pytest.mark.timeout(900)
def test_this_repository_deploys_by_cdk_json(user: Path, endpoint: Endpoint, tmp_path: Path) -> None:
    cdk = Cdk(endpoint, tmp_path)
    cdk.prepare(user)
    (words,) = (words for words in shown("deploy") if "code=demo" in words)
    command = [word.replace("code=demo", f"code={user / 'demo'}") for word in words]
    cdk.run(ROOT, *command, "-c", "local=true", "--output", str(tmp_path / "cdk.out"))
    assert cdk.stacks() == {"sedano-dev-state", "sedano-dev-core"}
    assert cdk.python(user / "demo", "-c", CALL, **cdk.outputs(user, "dev")).strip() == "6"


@pytest.mark.timeout(900)
def test_the_assembly_that_sedano_deploy_writes_is_deployed_by_the_cdk_and_found_unchanged(
    user: Path, endpoint: Endpoint, tmp_path: Path
) -> None:
    cdk = Cdk(endpoint, tmp_path)
    (user / "pyproject.toml").write_text('[tool.sedano]\napp = "shop:app"\ncode = "demo"\n')
    verb = ("-m", "sedano", "deploy", "--set", "local=true")
    cdk.python(user, "-m", "sedano", "bootstrap", "--yes")
    cdk.python(user, *verb, "--dry-run")
    assert cdk.stacks() == set()

    (words,) = re.findall(r"`cdk (deploy --app \.sedano/[^`]*)`", PAGE)
    cdk.run(user, *shlex.split(words))
    assert cdk.stacks() == {"sedano-dev-state", "sedano-dev-core"}
    assert cdk.python(user / "demo", "-c", CALL, **cdk.outputs(user, "dev")).strip() == "6"
    said = json.loads(cdk.python(user, *verb, "--yes", "--json", "--no-trial"))
    assert [one for one in said["stacks"] if one["changes"]] == [], "both deploy the same assembly"
