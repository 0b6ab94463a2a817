"""An AWS account with nothing in it, and who walks through docs/deploy.md with it, by the page's own commands."""

import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sedano.local import Endpoint
from sedano.local.synthesis import ROOT
from tests.plugins.resources import APP

CLIENT = "import tiny; print(tiny.add.delay(2, 3).get(timeout=300))"
CHANGED = re.compile(r"^\[[-+~]\] (AWS::\S+)", re.MULTILINE)


class Account:
    """An account on *endpoint*, and the walk in the clone *root*, for the application in *code*, with the variables of *environment*."""

    def __init__(self, endpoint: Endpoint, code: Path, root: Path = ROOT, environment: Mapping[str, str] = os.environ) -> None:
        self._endpoint, self._code, self._root = endpoint, code, root
        self._environment = {**environment, **endpoint.environment}

    def client(self, service: str) -> Any:
        """A client that may do everything."""
        return self._endpoint.session().client(service, endpoint_url=self._endpoint.url)

    def make(self, verb: str, *words: str, answer: str = "", ends_with: int = 0) -> str:
        """Give one command of the page; return all that it said."""
        command = ["make", "-s", verb, f"APP={APP}", f"CODE={self._code}", "STAGE=dev", "SET=local=true", *words]
        environment = {**self._environment, "CDK_VALIDATION": "false"}
        done = subprocess.run(command, cwd=self._root, env=environment, input=answer, capture_output=True, text=True, check=False)
        assert done.returncode == ends_with, done.stdout + done.stderr
        return done.stdout + done.stderr

    def settings(self) -> dict[str, str]:
        """What a shell has evaluated the variables of the stage to."""
        lines = [line for line in self.make("variables").splitlines() if line.startswith("export ")]
        told = [word.partition("=") for line in lines for word in shlex.split(line.removeprefix("export "))]
        return {name: value for name, _, value in told}

    def asks(self, settings: Mapping[str, str]) -> str:
        """What a program gets that asks for a task with these settings."""
        path = os.pathsep.join([str(self._root / "layers" / "sedano" / "python"), str(self._code)])
        environment = {**self._environment, **settings, "PYTHONPATH": path}
        python = str(self._root / ".venv" / "bin" / "python")
        done = subprocess.run([python, "-c", CLIENT], env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def is_empty(self, settings: Mapping[str, str]) -> bool:
        """Whether nothing is left of what *settings* name."""
        buckets = {bucket["Name"] for bucket in self.client("s3").list_buckets()["Buckets"]} & set(settings.values())
        tables = self.client("dynamodb").list_tables()["TableNames"]
        functions = self.client("lambda").list_functions()["Functions"]
        return not (buckets or tables or functions or self.client("sqs").list_queues().get("QueueUrls", []))
