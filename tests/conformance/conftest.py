"""`world`: memory, moto and ministack, one after the other. `-m "not ministack"` leaves the real endpoint out."""

import pytest

from tests.conformance.worlds import World, in_memory, over_aws


@pytest.fixture(params=["memory", "moto", pytest.param("ministack", marks=pytest.mark.ministack)])
def world(request: pytest.FixtureRequest) -> World:
    """Ports over empty resources of one test."""
    if request.param == "memory":
        return in_memory()
    return over_aws(request.getfixturevalue("resources" if request.param == "moto" else "ministack_resources"))


@pytest.fixture(params=["moto", pytest.param("ministack", marks=pytest.mark.ministack)])
def aws_world(request: pytest.FixtureRequest) -> World:
    """Ports over the AWS adapters only, for what memory cannot show."""
    return over_aws(request.getfixturevalue("resources" if request.param == "moto" else "ministack_resources"))
