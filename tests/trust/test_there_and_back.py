"""The walk of docs/deploy.md by its own commands and the CDK's own command line: from nothing to a deployed task, and back to nothing."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.command import ASSEMBLY
from sedano.local import Endpoint
from sedano.local.stage import ENDPOINT_PYTHON
from tests.plugins.resources import CODE
from tests.trust.account import CHANGED, Account

LONGEST_S = 3000


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
    assert account.is_empty(settings)
