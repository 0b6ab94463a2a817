"""Unexpected errors, the last resort of each engine: an exception that no rule foresaw costs the one message that caused it, and no other.

A parser refuses foreseen faults with a code of the closed list. This module handles the rest: a defect of the library, a strategy or a
policy of the user that raises, a malformed answer of a service. The message is parked as `unexpected`, with the type of the exception and
the frames of its traceback, and never with a value, because values may be secrets.

Why this is safe. A message ends by its acknowledgement, and the other two ends repeat it: a message that is given back is delivered again,
a parked message is sent again by `sedano parked redrive`, with the same body and so with the same ids. The record of its task lists the
remaining work (`sedano.model.ledger.claims`):

- nothing is claimed yet: the task has not begun; the copy claims and runs it.
- claimed, not begun: the claim is released, and the copy claims the task again.
- begun, not recorded: the attempt has failed, and that is recorded, so that the retry policy decides. Where the record itself is what
  raises, the claim runs out and the copy takes it over: the body runs again, as after a crash.
- recorded, not followed: the copy finds the terminal record with its own id and publishes the same follow-ups under the same derived ids;
  claims and joins absorb those that were sent before.

If a step for the whole batch raises, it is repeated for each message alone, so that only the message that causes it raises again. The steps
allow
that: claims have their nonces, arrivals are members of sets, follow-ups have derived ids. An earlier decision about a message (given back,
parked, sent anew) stays (`Batch.is_decided`).

An exception in an AWS adapter may be the service's fault (a page of HTML with status 200): such a message is given back first and parked at
its fourth receipt. `MemoryError` passes, like `SystemExit` and `KeyboardInterrupt`: it concerns this process, whose state cannot be trusted
any more. The queue then delivers the batch again, each message alone (`sedano.engine.worker.pipeline.rounds`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from sedano.engine.batch import Batch, Job
from sedano.errors import MessageRefused, SedanoError
from sedano.model import refusals
from sedano.ports import Delivery, Telemetry

I = TypeVar("I")  # noqa: E741 - an item
R = TypeVar("R")
LIBRARY = "sedano."
ADAPTERS = ("aws/", "sqlite/")
RECEIVES = 4
"""Receipts after which a message is parked whose exception was raised in an adapter."""
MOST_PLACES = 8


def unexpected(telemetry: Telemetry, error: Exception) -> SedanoError:
    """Return the error for the message: *error* itself if it is a temporary error of sedano, else a refusal as `unexpected`.

    Raises:
        MemoryError: *error* is a `MemoryError`.
    """
    if isinstance(error, MemoryError):
        raise error
    if isinstance(error, SedanoError) and (isinstance(error, MessageRefused) or not isinstance(error, TypeError | ValueError)):
        return error.as_answer()
    with suppress(Exception):  # telemetry that does not work must not cost a message
        telemetry.count("UnexpectedErrors")
    places = places_of(error)
    return MessageRefused(refusals.UNEXPECTED, places[0], f"{type(error).__name__} at {' < '.join(places[:MOST_PLACES])}")


def is_unexpected(error: SedanoError | None) -> bool:
    """Return whether *error* is the refusal that `unexpected` made of an exception."""
    return isinstance(error, MessageRefused) and error.code == refusals.UNEXPECTED


def contain(telemetry: Telemetry, error: Exception, delivery: Delivery, batch: Batch) -> None:
    """Settle *delivery*, for which a step raised *error*: park it, or give it back if the error is temporary."""
    settle(telemetry, unexpected(telemetry, error), delivery, batch)


def settle(telemetry: Telemetry, answer: SedanoError, delivery: Delivery, batch: Batch) -> None:
    """Park *delivery* if *answer* refuses it, else give it back."""
    if isinstance(answer, MessageRefused) and not is_early(answer, delivery):
        batch.park(delivery, answer.code, answer.field, answer.detail)
        return
    batch.give_back(delivery)
    with suppress(Exception):
        telemetry.log("warning", "message given back after an error", message_id=delivery.message_id, error=str(answer))


def is_early(refused: MessageRefused, delivery: Delivery) -> bool:
    """Return whether *refused* is from an adapter and *delivery* has so few receipts that the service may be the cause."""
    return is_unexpected(refused) and refused.field.startswith(ADAPTERS) and delivery.receives < RECEIVES


def passing(telemetry: Telemetry, step: str, call: Callable[[], R], instead: R) -> R:
    """Return the value of *call*, which concerns no message: if it raises, the error is logged and counted, and *instead* is returned."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - the last resort
        stumbled(telemetry, step, error)
    return instead


def stumbled(telemetry: Telemetry, step: str, error: Exception) -> None:
    """Log and count the *error* of a *step* of the batch that concerns no message."""
    answer = unexpected(telemetry, error)
    with suppress(Exception):
        telemetry.log("error", "unexpected error in a step of the batch", step=step, error=str(answer))


def answers_of(telemetry: Telemetry, call: Callable[[Sequence[I]], Sequence[R]], items: Sequence[I]) -> list[R | SedanoError]:
    """Return the answers of *call* for *items*. If it raises an unforeseen exception, it is made for each item alone."""
    try:
        return list(call(items))
    except SedanoError as error:
        return [error] * len(items)
    except Exception as error:  # noqa: BLE001 - the last resort
        answer = unexpected(telemetry, error)
    if len(items) == 1:
        return [answer]
    return [found for item in items for found in answers_of(telemetry, call, [item])]


def apart(
    telemetry: Telemetry, step: Callable[[Sequence[Job]], Sequence[R]], jobs: Sequence[Job], batch: Batch, undo: Callable[[], None]
) -> list[R]:
    """Return the value of *step* for *jobs*. If it raises, call *undo*, then *step* for each job alone; settle the jobs that raise."""
    try:
        return list(step(jobs))
    except Exception as error:  # noqa: BLE001 - the last resort
        answer = unexpected(telemetry, error)
    undo()
    left = [job for job in jobs if not batch.is_decided(job.delivery)]
    if len(jobs) == 1:
        for job in left:
            settle(telemetry, answer, job.delivery, batch)
        return []
    return [found for job in left for found in apart(telemetry, step, [job], batch, undo)]


def places_of(error: BaseException) -> list[str]:
    """Return the library's frames in the traceback of *error*, the innermost first; without any, the innermost of all."""
    places: list[str] = []
    last, frames = "?", error.__traceback__
    while frames is not None:
        module, code = frames.tb_frame.f_globals.get("__name__", "?"), frames.tb_frame.f_code
        last = f"{module.removeprefix(LIBRARY).replace('.', '/')}.py:{frames.tb_lineno} {code.co_name}"
        if module.startswith(LIBRARY):
            places.append(last)
        frames = frames.tb_next
    return places[::-1] or [last]
