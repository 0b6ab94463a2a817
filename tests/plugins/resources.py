"""AWS for tests: the synthesised templates, their resources on moto, and the whole stage on ministack.

`resources`           every table, queue and bucket of a stage on moto, fresh for each test, in this process
`ministack`           the stage deployed on a real endpoint, once a test run: functions consume its queues
`ministack_resources` tables, queues and buckets of the same shape on that endpoint, which no function consumes
"""

import fcntl
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from sedano.local import LocalStage, local_stage
from sedano.local.endpoint import REGION
from sedano.local.stage import stage_context
from sedano.local.synthesis import synthesise
from tests.aws_from_template import create_resources

APP = "tiny:app"
CODE = Path(__file__).resolve().parents[1] / "deploy" / "app"
QUEUES = ("default", "bulk", "orders.fifo")
"""The queues that the application declares."""


@dataclass(frozen=True, slots=True)
class Resources:
    """A stage's tables, queues and buckets: the settings that name them, and clients that reach them."""

    session: boto3.Session
    endpoint_url: str | None
    settings: Mapping[str, str]


class Shared:
    """Folders that are filled once a run, whatever number of processes it has. No test may write to one."""

    def __init__(self, base: Path) -> None:
        """Use the folder *base*, which all processes of the run have."""
        self._base = base

    def folder(self, name: str, fill: Callable[[Path], object]) -> Path:
        """Return the folder *name*. The first process that asks for it calls *fill* with its path, and the others wait until that ends.

        If *fill* raises, the next process tries again with an empty folder.
        """
        folder, filled = self._base / name, self._base / f"{name}.filled"
        with (self._base / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not filled.exists():
                shutil.rmtree(folder, ignore_errors=True)
                fill(folder)
                filled.touch()
        return folder


@pytest.fixture(scope="session")
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """The folders of this run; a process that runs tests for another one has its own temporary folder below that of the run."""
    base = tmp_path_factory.getbasetemp()
    return Shared(base.parent if hasattr(request.config, "workerinput") else base)


@pytest.fixture(scope="session")
def assembly(shared: Shared) -> Path:
    """The cloud assembly of a local stage, synthesised once a test run; a run that another one started is handed it."""
    if handed := os.environ.get("SEDANO_ASSEMBLY"):
        return Path(handed)
    return shared.folder("local.out", lambda folder: synthesise(stage_context(APP, CODE), folder))


@pytest.fixture(scope="session")
def moto_session() -> boto3.Session:
    """One session for all tests on moto: it reads the services' descriptions once, which is most of what a client costs."""
    return boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=REGION)


@pytest.fixture
def resources(assembly: Path, moto_session: boto3.Session) -> Iterator[Resources]:
    """A stage's tables, queues and buckets on moto, empty. Single-threaded: moto is not atomic across threads."""
    with mock_aws():
        yield Resources(moto_session, None, create_resources(assembly, moto_session))


@pytest.fixture(scope="session")
def ministack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStage]:
    """A whole stage of the application in tests/deploy/app on an endpoint of its own, until the test run ends."""
    with local_stage(app=APP, code=CODE, directory=tmp_path_factory.mktemp("ministack")) as stage:
        yield stage


@pytest.fixture(scope="session")
def ministack_session(ministack: LocalStage) -> boto3.Session:
    """One session for all tests on the endpoint, for the same reason as `moto_session`."""
    return ministack.endpoint.session()


@pytest.fixture
def ministack_resources(ministack: LocalStage, ministack_session: boto3.Session, assembly: Path) -> Resources:
    """Tables, queues and buckets for one test on the deployed stage's endpoint; nothing else touches them."""
    url = ministack.endpoint.url
    settings = create_resources(assembly, ministack_session, endpoint_url=url, prefix=f"t{secrets.token_hex(6)}-")
    return Resources(ministack_session, url, settings)
