"""An app whose task writes down when it ran: what stories of periodic tasks look at."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from sedano import Sedano
from sedano.memory import START
from sedano.testing import World, world

BEGAN = datetime.fromtimestamp(START, UTC)


class Diary:
    """An app whose task writes down when it ran, and what for."""

    def __init__(self) -> None:
        self.app = Sedano("diary")
        self.ran: list[tuple[str, float]] = []
        self.world: World | None = None
        self.note = self.app.task(name="note")(self._note)

    def _note(self, what: str = "", when: datetime | None = None) -> str:
        self.ran.append((what or str(when), self.world.clock.now() - START))
        return what

    @property
    def at(self) -> list[float]:
        """The seconds after the beginning at which it ran."""
        return [moment for _, moment in self.ran]

    @contextmanager
    def open(self) -> Iterator[World]:
        with world(self.app) as self.world:
            yield self.world
