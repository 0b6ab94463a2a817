"""The CDK's own command line, as a user of docs/deploy.md gives it, in an account that enforces IAM."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from requirements import toolchain
from sedano.local import Endpoint
from sedano.local.endpoint import REGION
from sedano.local.synthesis import ROOT

PAGE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"```python (\S+)\n(.*?)```", PAGE, re.DOTALL))
ACCOUNT = "000000000000"
LIBRARY = ROOT / "layers" / "sedano" / "python"
LONGEST_S = 300.0
REFUSED_ROLE = "could not be used to assume"
"""The CDK says so and goes on with the rights of its caller, when a role of the bootstrap does not deploy."""


def shown(verb: str) -> list[list[str]]:
    """Return the words behind `cdk` of each command of the page that begins with *verb*."""
    return [shlex.split(one, comments=True) for one in re.findall(rf"^(?:npx )?cdk ({verb}\b.*)$", PAGE, re.MULTILINE)]


class Cdk:
    """The pinned command line of the CDK, and programs beside it, for an account on *endpoint*, with *library* on their path."""

    def __init__(self, endpoint: Endpoint, home: Path, library: Path = LIBRARY) -> None:
        self._endpoint = endpoint
        cache = Path.home() / ".cache" / "aws" / "jsii" / "package-cache"
        ours = {name: value for name, value in os.environ.items() if not name.startswith("SEDANO_")}  # a shell of a user has no other stage
        self.environment = {
            **ours,
            **toolchain.environment(os.environ),
            **endpoint.environment,
            "HOME": str(home),
            "PYTHONPATH": str(library),
            "SEDANO_DEPLOY_PYTHON": sys.executable,
            "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(cache),
            "CDK_VALIDATION": "false",
        }
        self._cdk = toolchain.cdk(self.environment)

    def client(self, service: str) -> Any:
        """A client that may do everything."""
        return self._endpoint.session().client(service, endpoint_url=self._endpoint.url)

    def prepare(self, folder: Path) -> None:
        """Prepare the account by the CDK's own bootstrap."""
        self.run(folder, "bootstrap", f"aws://{ACCOUNT}/{REGION}", "--app", "")

    def run(self, folder: Path, *words: str) -> str:
        """Give one command of `cdk` in *folder*; return all that it said."""
        asks = ("--require-approval", "never") if words[0] == "deploy" else ("--force",) if words[0] == "destroy" else ()
        return "".join(self._said([*self._cdk, *words, "--no-notices", *asks], folder))

    def python(self, folder: Path, *words: str, **more: str) -> str:
        """Run Python in *folder*; return its output."""
        return self._said([sys.executable, *words], folder, **more)[0]

    def outputs(self, folder: Path, stage: str) -> dict[str, str]:
        """Return the variables of *stage*."""
        found: dict[str, str] = json.loads(self.python(folder, "-m", "sedano", "outputs", "--json", "--stage", stage))
        return found

    def stacks(self) -> set[str]:
        """Return the names of the account's stacks, save that of the bootstrap."""
        return {one["StackName"] for one in self.client("cloudformation").describe_stacks()["Stacks"]} - {"CDKToolkit"}

    def _said(self, command: list[str], folder: Path, **more: str) -> tuple[str, str]:
        environment = {**self.environment, **more}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=LONGEST_S)
        assert done.returncode == 0, done.stdout + done.stderr
        assert REFUSED_ROLE not in done.stdout + done.stderr
        return done.stdout, done.stderr
