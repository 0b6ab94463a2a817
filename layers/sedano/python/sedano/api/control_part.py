"""The base of all parts of `app.control`: the ports, the declarations, and the writer of the control record."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from sedano.engine.cluster.control import Controlling
from sedano.engine.registry import Registry
from sedano.ports import Ports


class ControlPart(ABC):
    """A mixin of `sedano.api.control.Control`."""

    @property
    @abstractmethod
    def _controlling(self) -> Controlling:
        """The writer of the control record of the app's deployment."""

    @property
    @abstractmethod
    def _registry(self) -> Registry:
        """The declarations of the app."""

    @property
    @abstractmethod
    def _queue_names(self) -> Sequence[str]:
        """The names of the app's command queues."""

    @property
    @abstractmethod
    def _ports(self) -> Ports:
        """The ports of the app."""
