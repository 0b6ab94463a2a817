"""`world`: memory, one SQLite file, moto and ministack, one after the other. `-m "not ministack"` leaves the real endpoint out."""

import os
from collections.abc import Iterator

import pytest

from sedano.aws.key_store import SsmKeyStore, parameter
from sedano.memory import MemoryKeyStore
from sedano.ports.seals import KeyStore
from sedano.sqlite.key_store import SqliteKeyStore
from sedano.sqlite.store import Store
from tests.conformance.worlds import World, named
from tests.plugins.resources import Resources

STAGE = "conformance"
TABLES = ("SEDANO_LEDGER_TABLE", "SEDANO_CONTROL_TABLE")


@pytest.fixture
def timeless_resources(ministack_resources: Resources) -> Resources:
    """A stage's resources on the endpoint, in which nothing ages out: these tests live in January 2026, and once a minute the endpoint
    deletes what is past its time by the clock of the machine."""
    client = ministack_resources.session.client("dynamodb", endpoint_url=ministack_resources.endpoint_url)
    for setting in TABLES:
        off = {"Enabled": False, "AttributeName": "ttl"}
        client.update_time_to_live(TableName=ministack_resources.settings[setting], TimeToLiveSpecification=off)
    return ministack_resources


SLIM = ("claims", "records", "joins", "reservations", "queues", "effects", "limits", "parked_command")
"""The suites of the writes that the slim client makes. SEDANO_CONFORMANCE=slim runs the others with it as well."""
REAL = [pytest.param(name, marks=pytest.mark.ministack) for name in ("ministack", "slim_ministack", "grouped_ministack")]
GROUPED = ("ledger_claims", "ledger_records", "ledger_revocations", "group_commit")
"""The suites of what group commit changes."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the slim client out of the suites that are not in `SLIM`, and group commit out of those that are not in `GROUPED`. moto has no
    statements with parameters.
    """
    everywhere = os.environ.get("SEDANO_CONFORMANCE") == "slim"
    items[:] = [item for item in items if "[grouped_ministack" not in item.name or item.path.stem.endswith(GROUPED)]
    items[:] = [item for item in items if everywhere or "[slim_ministack" not in item.name or item.path.stem.endswith(SLIM)]


@pytest.fixture(params=["memory", "sqlite", "moto", *REAL])
def world(request: pytest.FixtureRequest) -> World:
    """Ports over empty resources of one test."""
    return named(request.param, request)


@pytest.fixture(params=["sqlite", "moto", pytest.param("ministack", marks=pytest.mark.ministack)])
def lasting_world(request: pytest.FixtureRequest) -> World:
    """Ports over what outlives a process, to be compared with memory."""
    return named(request.param, request)


@pytest.fixture(params=["moto", pytest.param("ministack", marks=pytest.mark.ministack)])
def aws_world(request: pytest.FixtureRequest) -> World:
    """Ports over the AWS adapters only, for what memory cannot show."""
    return named(request.param, request)


@pytest.fixture(params=["memory", "sqlite", "moto", pytest.param("ministack", marks=pytest.mark.ministack)])
def store(request: pytest.FixtureRequest) -> Iterator[KeyStore]:
    """A store of keys in which nothing was written."""
    if request.param == "memory":
        yield MemoryKeyStore()
        return
    if request.param == "sqlite":
        yield SqliteKeyStore(Store(request.getfixturevalue("tmp_path") / "sedano.db"))
        return
    resources: Resources = request.getfixturevalue("resources" if request.param == "moto" else "ministack_resources")
    ssm = resources.session.client("ssm", endpoint_url=resources.endpoint_url)
    yield SsmKeyStore(ssm, STAGE)
    ssm.delete_parameters(Names=[parameter(STAGE)])
