"""`stage`: every story is told in memory, in one SQLite file and on moto, from an empty stage each time."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from tests.aws_from_template import create_resources
from tests.plugins.resources import Resources
from tests.stories import fleet as fleets
from tests.stories.dev_project import DevProject
from tests.stories.shop import Shop
from tests.stories.stage import Stage, in_memory, on_file, on_moto
from tests.stories.worked_project import WorkedProject
from tests.stories.workshop import Workshop

Stages = Callable[[], AbstractContextManager[Stage]]


@pytest.fixture(params=["memory", "sqlite", "moto"])
def stage(request: pytest.FixtureRequest) -> Stage:
    """An empty stage."""
    if request.param == "sqlite":
        return on_file(request.getfixturevalue("tmp_path"))
    return in_memory() if request.param == "memory" else on_moto(request.getfixturevalue("resources"))


@pytest.fixture
def moto_stages(assembly: Path, moto_session: boto3.Session) -> Stages:
    """Makes one empty stage on moto after the other, for stories that are told many times."""

    @contextmanager
    def another() -> Iterator[Stage]:
        with mock_aws():
            yield on_moto(Resources(moto_session, None, create_resources(assembly, moto_session)))

    return another


@pytest.fixture
def shop() -> Shop:
    """A shop of its own: nothing ran yet."""
    return Shop()


@pytest.fixture
def workshop() -> Workshop:
    """A workshop of its own: nothing ran yet."""
    return Workshop()


@pytest.fixture(params=["memory", "sqlite", "moto"])
def fleet(request: pytest.FixtureRequest) -> fleets.Fleet:
    """Leases without a process yet."""
    if request.param == "sqlite":
        return fleets.on_file(request.getfixturevalue("tmp_path"))
    return fleets.in_memory() if request.param == "memory" else fleets.on_moto(request.getfixturevalue("resources"))


@pytest.fixture
def dev(tmp_path: Path) -> Iterator[DevProject]:
    """A project for `sedano dev` on which nothing runs yet, and nothing afterwards."""
    made = DevProject(tmp_path)
    yield made
    made.close()


@pytest.fixture
def worked(tmp_path: Path) -> Iterator[WorkedProject]:
    """A project for `sedano worker` on which nothing runs yet, and nothing afterwards."""
    made = WorkedProject(tmp_path)
    yield made
    made.close()
