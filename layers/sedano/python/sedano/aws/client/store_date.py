"""A client that keeps the date of its service's last answer, so that a worker can check its own clock without a call.

`sedano.aws.client.store_time` computes the store's time at each answer. A worker needs that time only when a task with `expires` arrives,
so here it is computed on request, and a worker without such tasks does not load that module. No call is made for the time alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from sedano.ports import Clock

if TYPE_CHECKING:
    from sedano.model.store_clock import Interval

_Moment = tuple[float, float]
"""The readings of the wall clock and of the monotonic clock, in ms."""


class NotedClient:
    """Wraps a botocore client and keeps the date of its last answer or refusal. Thread-safe."""

    def __init__(self, client: Any, clock: Clock) -> None:
        """Note the answers of *client*, with the moments of this machine's *clock*."""
        self._client = client
        self._own = clock
        self._last: tuple[str, _Moment, _Moment] | None = None

    def time(self) -> Interval | None:
        """Return the time of the service's clock; None before its first answer with a date."""
        last = self._last
        if last is None:
            return None
        from sedano.aws.client.store_time import date_ms
        from sedano.model.store_clock import Moment, learned

        text, sent, received = last
        date = date_ms(text)
        return learned(None, date, Moment(*sent), Moment(*received)).at(Moment(*self._moment())) if date is not None else None

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        """Return the client's own operation, whose answers are noted."""
        call: Callable[..., Any] = getattr(self._client, operation)

        def noted(**parameters: Any) -> Any:
            sent = self._moment()
            try:
                answer = call(**parameters)
            except ClientError as error:
                self._note(error.response, sent)
                raise
            self._note(answer, sent)
            return answer

        return noted

    def _note(self, answer: Mapping[str, Any], sent: _Moment) -> None:
        text = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
        if text:
            self._last = text, sent, self._moment()

    def _moment(self) -> _Moment:
        return self._own.now() * 1000, self._own.monotonic() * 1000
