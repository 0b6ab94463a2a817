"""A clock that follows the service's where a service refuses a signature because of its time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from sedano.aws.client.error_codes import is_skew
from sedano.aws.client.store_time import date_ms

FAR_S = 60.0
"""A clock that is nearer to the service's than this is not the reason of a refusal: services accept five minutes."""
_ALWAYS = frozenset({"RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture"})
_SOMETIMES = frozenset({"InvalidSignatureException", "SignatureDoesNotMatch"})


class SkewedClock:
    """This machine's clock, and by how much a service's is ahead of it. Thread-safe: a correction is one number."""

    __slots__ = ("_ahead", "_own")

    def __init__(self, own: Callable[[], float]) -> None:
        """Trust the *own* clock (seconds since the epoch) until a service refuses its time."""
        self._own, self._ahead = own, 0.0

    def date(self) -> str:
        """Return the time as `x-amz-date` has it."""
        return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(self._own() + self._ahead))

    def learn(self, error: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
        """Return whether *error* (a code and a message) refuses the time of a signature, and the clock now shows the time of the answer.

        An answer without a request id is not from the service, and sets no clock.
        """
        code, text = error.get("Code"), str(error.get("Message", ""))
        if code not in _ALWAYS and not (code in _SOMETIMES and is_skew(text)):
            return False
        date = date_ms(headers.get("date", "")) if "x-amzn-requestid" in headers else None
        if date is None or abs(date / 1000 - self._own() - self._ahead) < FAR_S:
            return False
        self._ahead = date / 1000 - self._own()
        return True
