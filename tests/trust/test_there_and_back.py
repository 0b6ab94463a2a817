"""The walk of docs/deploy.md by its own commands and the CDK's own command line: from nothing to a deployed task, and back to nothing."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.command import ASSEMBLY
from sedano.local import Endpoint, assembly
from sedano.local.stage import ENDPOINT_PYTHON
from sedano.local.synth import ROOT
from tests.plugins.resources import APP, CODE

LONGEST_S = 3000
STACKS = ("sedano-dev-state", "sedano-dev-core")
CLIENT = "import tiny; print(tiny.add.delay(2, 3).get(timeout=300))"
CHANGED = re.compile(r"^\[[-+~]\] (AWS::\S+)", re.MULTILINE)


class Account:
    """An AWS account with nothing in it, and who walks through the page with it."""

    def __init__(self, endpoint: Endpoint, code: Path) -> None:
        self._endpoint, self._code = endpoint, code

    def client(self, service: str) -> Any:
        """A client that may do everything."""
        return self._endpoint.session().client(service, endpoint_url=self._endpoint.url)

    def make(self, verb: str, *words: str, answer: str = "", ends_with: int = 0) -> str:
        """Give one command of the page; return all that it said."""
        command = ["make", "-s", verb, f"APP={APP}", f"CODE={self._code}", "STAGE=dev", "SET=local=true", *words]
        environment = {**os.environ, **self._endpoint.environment, "CDK_VALIDATION": "false"}
        done = subprocess.run(command, cwd=ROOT, env=environment, input=answer, capture_output=True, text=True, check=False)
        assert done.returncode == ends_with, done.stdout + done.stderr
        return done.stdout + done.stderr

    def settings(self) -> dict[str, str]:
        """What the page reads from the stacks' outputs."""
        described = [self.client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0] for stack in STACKS]
        return assembly.settings({output["OutputKey"]: output["OutputValue"] for stack in described for output in stack["Outputs"]})

    def asks(self, settings: dict[str, str]) -> str:
        """What a program gets that asks for a task with these settings."""
        path = os.pathsep.join([str(ROOT / "layers" / "sedano" / "python"), str(self._code)])
        environment = {**os.environ, **self._endpoint.environment, **settings, "PYTHONPATH": path}
        done = subprocess.run([sys.executable, "-c", CLIENT], env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    """An empty account, a copy of the application, and a clone in which nothing was synthesised yet."""
    shutil.rmtree(ASSEMBLY, ignore_errors=True)
    code = Path(shutil.copytree(CODE, tmp_path / "app"))
    with Endpoint(ENDPOINT_PYTHON, tmp_path / "endpoint") as running:
        yield Account(running, code)


@pytest.mark.timeout(LONGEST_S)
def test_from_nothing_to_a_deployed_task_to_its_change_and_back(account: Account, tmp_path: Path) -> None:
    account.make("bootstrap")
    account.make("deploy", "CDK=--require-approval never")
    settings = account.settings()
    assert account.asks(settings) == "5"
    assert CHANGED.findall(account.make("diff")) == []

    module = tmp_path / "app" / "tiny.py"
    module.write_text(module.read_text().replace("return a + b", "return 10 * (a + b)"))
    assert set(CHANGED.findall(account.make("diff"))) <= {"AWS::Lambda::LayerVersion", "AWS::Lambda::Function"}
    account.make("deploy", "CDK=--require-approval never")
    assert account.asks(settings) == "50"

    s3 = account.client("s3")
    for body in (b"a result", b"and another in its place"):
        s3.put_object(Bucket=settings["SEDANO_BLOBS_BUCKET"], Key="large", Body=body)
    assert "Nothing was changed." in account.make("destroy", answer="n\n", ends_with=2)
    assert account.asks(settings) == "50"
    assert "2 objects deleted" in account.make("destroy", answer="y\n")
    assert not {bucket["Name"] for bucket in s3.list_buckets()["Buckets"]} & set(settings.values())
    assert account.client("dynamodb").list_tables()["TableNames"] == []
    assert account.client("lambda").list_functions()["Functions"] == []
    assert account.client("sqs").list_queues().get("QueueUrls", []) == []
