"""An app as a view uses it: its declarations, over ports that only read and that count each read.

A `Reader` has the parts of an app that views need (`app.control.inspect()`, `app.schedules`, runs of workflows), so a view calls the
same code as the app. Each view has its own reader, which counts the reads of that view.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from sedano.api.control import Control
from sedano.api.schedules import Schedules
from sedano.app import Sedano
from sedano.engine.publisher.publisher import Outlet
from sedano.ports import Ports
from sedano.views.reads import Reads, Tally, counted

Certainty = Literal["live", "settled"]


class About(NamedTuple):
    """A view as a whole: the moment *at* which it was read (epoch s), its *certainty*, and its *reads* with their price.

    ``live``: the view may change, or is approximate (depths of queues, the last minutes of the history). ``settled``: its subject has
    ended and does not change any more.
    """

    at: float
    certainty: Certainty
    reads: Reads


class Reader:
    """Reads one stage of *app* for one view."""

    def __init__(self, app: Sedano) -> None:
        """Read through the ports of *app*; nothing is read yet."""
        self._tally = Tally()
        self.name, self.queues, self.registry = app.name, app.queues, app.registry
        self.periodics = app.periodics
        self.outlet = Outlet(app.name, app.registry, counted(app.outlet.ports, self._tally), app.queues)

    @property
    def ports(self) -> Ports:
        """The ports, which only read."""
        return self.outlet.ports

    @property
    def now(self) -> float:
        """This moment (epoch s)."""
        return self.ports.clock.now()

    @property
    def control(self) -> Control:
        """The app's control panel over these ports; its changes are refused."""
        return Control(self)

    @property
    def schedules(self) -> Schedules:
        """The app's schedules over these ports; their changes are refused."""
        return Schedules(self)

    @property
    def task(self) -> Callable[..., Any]:
        """Refuse to declare a task.

        Raises:
            TypeError: always.
        """
        raise TypeError("a view cannot declare a task; declare it on the app")

    def about(self, *, settled: bool = False) -> About:
        """Return the moment and the reads of the view that was read through this reader."""
        return About(self.now, "settled" if settled else "live", self._tally.reads())
