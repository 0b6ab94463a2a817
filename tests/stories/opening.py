"""The worlds of the depot and of the forge, opened; apart from these apps, which a deployed function loads and which must stay light."""

from collections.abc import Iterator
from contextlib import contextmanager

from sedano.testing import World, world
from tests.stories import depot, forge


@contextmanager
def opened_depot() -> Iterator[World]:
    """Yield the depot in memory, which was told nothing yet and fails at nothing."""
    depot.told.clear()
    depot.fails.clear()
    with world(depot.app) as built:
        yield built


@contextmanager
def opened_forge() -> Iterator[World]:
    """Yield the forge in memory, which was told nothing yet and keeps its sender's secret."""
    forge.told.clear()
    with world(forge.app) as built:
        built.secrets["github"] = forge.SECRET
        yield built
