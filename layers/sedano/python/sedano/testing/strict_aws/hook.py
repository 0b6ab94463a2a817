"""A hook in every AWS client of a process: a call that AWS would refuse fails before it is sent, with AWS's message.

botocore registers the handlers in `BUILTIN_HANDLERS` on each session (of boto3, of botocore, and sedano's `Session`), and calls them
whatever `parameter_validation` says. So one entry there sees each call of each client, with the parameters as the caller gave them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from botocore import handlers

from sedano.testing.strict_aws import dynamodb, models
from sedano.testing.strict_aws.limits import Trip
from sedano.testing.strict_aws.services import SERVICES
from sedano.testing.strict_aws.sqs import Receipts

ANSWERS = (
    "after-call.sqs.ReceiveMessage", "after-call.dynamodb.GetItem", "after-call.dynamodb.PutItem", "after-call.dynamodb.UpdateItem",
    "after-call.dynamodb.DeleteItem",
)  # fmt: skip
"""The answers that are checked. Each has its full name, so that its handlers run before those of boto3's tables, which change the
answer."""


class TrippedError(AssertionError):
    """AWS would refuse this call."""


def problems(service: str, operation: Any, call: Mapping[str, Any]) -> Iterator[Trip]:
    """Yield what AWS refuses of a call of *operation* (a model of botocore)."""
    found = [] if operation.input_shape is None else list(models.problems(operation.input_shape, call))
    yield from found
    if not any(trip.limit in ("model.type", "model.required") for trip in found) and service in SERVICES:
        yield from SERVICES[service](operation.name, call)


class StrictAws:
    """The hook: it raises for a call that AWS would refuse, and remembers it, because code under test may catch the error."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """Count from *clock*, in Unix seconds."""
        self.calls = 0
        self._clock = clock
        self._receipts = Receipts()
        self._trips: list[str] = []
        self._allowed: frozenset[str] = frozenset()
        self.is_on = True
        """Whether calls are checked."""

    def install(self) -> None:
        """Check the calls of every client of each session that this process makes from now on."""
        handlers.BUILTIN_HANDLERS += [
            ("before-parameter-build", self._before, handlers.REGISTER_FIRST),
            *((event, self._after) for event in ANSWERS),
        ]

    def stand_under(self, events: Any) -> None:
        """Check the calls of an existing client, or of the clients of an existing session, by its emitter of *events*."""
        events.register_first("before-parameter-build", self._before)
        for event in ANSWERS:
            events.register(event, self._after)

    def remove(self) -> None:
        """Do not check sessions that are made from now on."""
        own = (self._before, self._after)
        handlers.BUILTIN_HANDLERS[:] = [entry for entry in handlers.BUILTIN_HANDLERS if entry[1] not in own]

    @contextmanager
    def allowing(self, *limits: str) -> Iterator[None]:
        """Allow calls beyond these limits within the block, for a test of the service's own answer."""
        before, self._allowed = self._allowed, self._allowed | set(limits)
        try:
            yield
        finally:
            self._allowed = before

    def taken(self) -> Sequence[str]:
        """Return the trips since the last call, and forget them."""
        found, self._trips = self._trips, []
        return found

    def _before(self, params: Mapping[str, Any], model: Any, **_: Any) -> None:
        if not self.is_on:
            return
        self.calls += 1
        service = model.service_model.service_name
        found = list(problems(service, model, params))
        if service == "sqs":
            found += self._receipts.problems(model.name, params, self._clock())
        self._trip(service, model.name, found)

    def _after(self, parsed: Mapping[str, Any], model: Any, **_: Any) -> None:
        if not self.is_on:
            return
        service = model.service_model.service_name
        if service == "sqs" and model.name == "ReceiveMessage":
            self._receipts.note(parsed, self._clock())
        if service == "dynamodb":
            self._trip(service, model.name, list(dynamodb.answer_problems(model.name, parsed)))

    def _trip(self, service: str, operation: str, found: Sequence[Trip]) -> None:
        words = [f"{trip.limit}: {service} {operation}: {trip.code}: {trip.words}" for trip in found if trip.limit not in self._allowed]
        if words:
            self._trips += words
            raise TrippedError("; ".join(words))
