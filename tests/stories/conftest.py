"""`stage`: every story is told in memory and on moto, from an empty stage each time."""

import pytest

from tests.stories.shop import Shop
from tests.stories.stage import Stage, in_memory, on_moto


@pytest.fixture(params=["memory", "moto"])
def stage(request: pytest.FixtureRequest) -> Stage:
    """An empty stage."""
    return in_memory() if request.param == "memory" else on_moto(request.getfixturevalue("resources"))


@pytest.fixture
def shop() -> Shop:
    """A shop of its own: nothing ran yet."""
    return Shop()
