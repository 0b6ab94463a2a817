"""Two services that tasks call, on this machine: an index, and an archive that is down until it is repaired. They record their calls.

They are the demo's witness for the promises of limits and circuits, which are checked at the called service.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from threading import Event

from examples.local_run.server import Server

INDEX, ARCHIVE = "index", "archive"


@dataclass(frozen=True, slots=True)
class Call:
    """One call: its moment (epoch s), its service, the number of its item, and whether it was served."""

    at: float
    service: str
    number: str
    served: bool


class Services(Server):
    """The two services; they listen until the `with` statement ends."""

    def __init__(self) -> None:
        """Listen on a free port of this machine; the archive is down."""
        super().__init__("services", self._note)
        self.calls: list[Call] = []
        self._is_whole = Event()

    def repair(self) -> None:
        """Let the archive work from now on."""
        self._is_whole.set()

    def _note(self, path: str, headers: Mapping[str, str], body: bytes) -> HTTPStatus:
        service, _, number = path.strip("/").partition("/")
        served = service == INDEX or self._is_whole.is_set()
        self.calls.append(Call(time.time(), service, number, served))
        return HTTPStatus.OK if served else HTTPStatus.SERVICE_UNAVAILABLE
