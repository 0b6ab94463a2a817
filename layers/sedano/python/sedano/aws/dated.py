"""A client whose every answer also tells the time: the store's clock, learned from the `Date` header of answers and refusals alike."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any

from botocore.exceptions import ClientError

from sedano.model.store_clock import Interval, Moment, StoreClock, learned
from sedano.ports import Clock


@lru_cache(64)
def _date_ms(text: str) -> int | None:
    """Return the moment (epoch ms) that a `Date` header names, or None; a second's answers all bear the same text."""
    try:
        return round(parsedate_to_datetime(text).timestamp() * 1000)
    except ValueError:
        return None


class DatedClient:
    """Stands before a botocore client and reads the date of each answer. Thread-safe."""

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
        """Return the client's own operation, timed."""
        call = getattr(self._client, operation)

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
        date = _date_ms(text)
        if date is None:
            return
        with self._lock:
            self._store = learned(self._store, date, sent, self._moment())

    def _moment(self) -> Moment:
        return Moment(self._own.now() * 1000, self._own.monotonic() * 1000)
