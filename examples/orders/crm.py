"""The CRM: a receiver of signed webhooks on this machine, which is away until it is repaired. It records what it accepts."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from http import HTTPStatus
from threading import Event, Lock
from typing import Any, NamedTuple

from examples.local_run.server import HOST, Server
from sedano.model.sources.signature_schemes import standard_signature

SECRET = f"whsec_{base64.b64encode(b'orders signs for the CRM.').decode()}"


class Received(NamedTuple):
    """A request that the CRM accepted: its `Idempotency-Key`, and the document."""

    key: str
    document: Mapping[str, Any]


class Crm(Server):
    """The receiver; it listens until the `with` statement ends."""

    def __init__(self) -> None:
        """Listen on a free port of this machine; it is away."""
        super().__init__("crm", self._take)
        self.received: list[Received] = []
        self.turned_away = self.forged = 0
        self._is_back, self._lock = Event(), Lock()

    @property
    def address(self) -> str:
        """The address of its webhook."""
        return f"http://{HOST}:{self.port}/orders"

    def repair(self) -> None:
        """Accept requests from now on."""
        self._is_back.set()

    def _take(self, path: str, headers: Mapping[str, str], body: bytes) -> HTTPStatus:
        with self._lock:
            if not self._is_back.is_set():
                self.turned_away += 1
                return HTTPStatus.SERVICE_UNAVAILABLE
            key, at = headers["webhook-id"], headers["webhook-timestamp"]
            if headers["webhook-signature"] != f"v1,{standard_signature(key, at, body, SECRET).decode()}":
                self.forged += 1
                return HTTPStatus.UNAUTHORIZED
            self.received.append(Received(headers["Idempotency-Key"], json.loads(body)))
            return HTTPStatus.NO_CONTENT
