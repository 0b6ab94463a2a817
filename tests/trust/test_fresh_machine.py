"""A machine that has Python, make and git, but neither Node nor Java: from a clean clone to a deployed task, and back to nothing.

The commands are those of docs/deploy.md; the endpoint of this machine stands for AWS, and `local=true` leaves out what it does not know.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sedano.local import Endpoint
from sedano.local.stage import ENDPOINT_PYTHON
from sedano.local.synthesis import ROOT
from tests.trust.account import CHANGED, Account

HIDDEN = re.compile(r"node|nodejs|np[mx]|corepack|yarn|cdk|java\w*|j(ar|shell|link|deps)")
OURS = ("AWS_", "SEDANO_", "MAKE", "MFLAGS", "JAVA_HOME", "JSII_NODE", "PYTHON", "VIRTUAL_ENV", "PYTEST_", "SPARK_")
LONGEST_S = 3000


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with every program of this machine but those that the machine shall not have."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for place in map(Path, os.get_exec_path()):
        for found in place.iterdir() if place.is_dir() and ROOT not in (place, *place.parents) else ():
            if not HIDDEN.fullmatch(found.name) and not (folder / found.name).is_symlink():
                (folder / found.name).symlink_to(found)
    return folder


@pytest.fixture
def account(tmp_path: Path, programs: Path) -> Iterator[Account]:
    """An empty account, and a clean clone on the fresh machine."""
    if not (ROOT / ".git").exists():
        pytest.skip("this tree is no checkout of git: there is nothing to clone")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    with Endpoint(ENDPOINT_PYTHON, tmp_path / "endpoint") as running:
        yield Account(running, clone / "tests" / "deploy" / "app", clone, {**inherited, "PATH": str(programs)})


@pytest.mark.timeout(LONGEST_S)
def test_from_a_clean_clone_to_a_deployed_task_and_back_to_nothing(account: Account, programs: Path) -> None:
    assert not any(shutil.which(program, path=str(programs)) for program in ("node", "npm", "java"))
    account.make("bootstrap")
    account.make("deploy", "CDK=--require-approval never")
    settings = account.settings()
    assert account.asks(settings) == "5"
    assert CHANGED.findall(account.make("diff")) == []
    account.make("destroy", answer="y\n")
    assert account.is_empty(settings)
