"""A client that reads the store's clock from the `Date` header of every response, errors included.

`BoundedClock` is the machine's clock as long as these responses confirm it. The scheduler and the controller use it: they decide for all
workers, and a wrong clock of one machine must not make them decide hours too early or too late.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any

from botocore.exceptions import ClientError

from sedano.model.store_clock import Interval, Moment, StoreClock, learned
from sedano.ports import Clock, Telemetry


@lru_cache(64)
def date_ms(text: str) -> int | None:
    """Return the moment (epoch ms) that a `Date` header names, or None; all answers of one second have the same text."""
    try:
        return round(parsedate_to_datetime(text).timestamp() * 1000)
    except ValueError:
        return None


FAR_S = 5.0
"""A clock that is further off than this is reported."""


class DatedClient:
    """Wraps a botocore client and reads the date of each answer. Thread-safe."""

    def __init__(self, client: Any, clock: Clock) -> None:
        """Learn the time of the service behind *client*, measured by this machine's *clock*."""
        self._client = client
        self._own = clock
        self._lock = threading.Lock()
        self._store: StoreClock | None = None

    def time(self) -> Interval | None:
        """Return what the service's clock shows now; None before its first answer."""
        store = self._store
        return store.at(self._moment()) if store is not None else None

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        """Return the client's own operation, timed; a paginator as it is."""
        call: Callable[..., Any] = getattr(self._client, operation)
        if operation == "get_paginator":
            return call

        def timed(**parameters: Any) -> Any:
            sent = self._moment()
            try:
                answer = call(**parameters)
            except ClientError as error:
                self._learn(error.response, sent)
                raise
            self._learn(answer, sent)
            return answer

        return timed

    def _learn(self, answer: Mapping[str, Any], sent: Moment) -> None:
        text = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
        if not text:
            return
        date = date_ms(text)
        if date is None:
            return
        with self._lock:
            self._store = learned(self._store, date, sent, self._moment())

    def _moment(self) -> Moment:
        return Moment(self._own.now() * 1000, self._own.monotonic() * 1000)


class BoundedClock:
    """A clock (`sedano.ports.Clock`) that shows the machine's time if the store's time allows it, else the earliest time that the store's
    clock can show.

    If the machine's clock is days ahead or behind, or is set while it is read, this clock shows the store's time: a second or two late,
    never early. Before the store's first response it shows the machine's time.
    """

    def __init__(self, own: Clock, time: Callable[[], Interval | None], telemetry: Telemetry) -> None:
        """Bound the machine's *own* clock by the store's *time*; log to *telemetry* when the two are far apart, once for each such
        period."""
        self._own, self._time, self._telemetry = own, time, telemetry
        self._told = False
        self.monotonic, self.sleep, self.sleep_async = own.monotonic, own.sleep, own.sleep_async

    def now(self) -> float:
        """Return seconds since the epoch, UTC."""
        shown, store = self._own.now(), self._time()
        if store is None or (store.lo <= shown * 1000 <= store.hi and not store.suspect):
            self._told = False
            return shown
        off = shown - store.lo / 1000
        if abs(off) > FAR_S and not self._told:
            self._telemetry.log("error", "this machine's clock is wrong; the store's is used", seconds=round(off, 3))
        self._told = abs(off) > FAR_S
        return store.lo / 1000


def bounded(client: Any, own: Clock, telemetry: Telemetry) -> tuple[DatedClient, BoundedClock]:
    """Return *client* wrapped to learn the time from its answers, and the machine's *own* clock bounded by that time."""
    dated = DatedClient(client, own)
    return dated, BoundedClock(own, dated.time, telemetry)
