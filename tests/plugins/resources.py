"""AWS for tests: the synthesised templates, their resources on moto, and the whole stage on ministack.

`resources`           every table, queue and bucket of a stage on moto, fresh for each test, in this process
`ministack`           the stage deployed on a real endpoint, once a test run: functions consume its queues
`ministack_resources` tables, queues and buckets of the same shape on that endpoint, which no function consumes
"""

import os
import secrets
from collections.abc import Iterator, Mapping
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


@pytest.fixture(scope="session")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cloud assembly of a local stage, synthesised once a test run; a run that another one started is handed it."""
    if handed := os.environ.get("SEDANO_ASSEMBLY"):
        return Path(handed)
    return synthesise(stage_context(APP, CODE), tmp_path_factory.mktemp("local") / "cdk.out")


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
