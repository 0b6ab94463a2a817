"""The calls that a process makes when it ends: side by side, or one for all lanes, so that more lanes do not make its end longer."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeVar

from sedano.engine.worker.claim_extension import GivenUp, released
from sedano.engine.worker.pipeline import Worker
from sedano.errors import SedanoError
from sedano.ports import Ports

T = TypeVar("T")
MOST_AT_ONCE = 10
"""How many calls are made at once: the connections that a client of AWS keeps by default."""


def each(call: Callable[[T], object], items: Iterable[T]) -> None:
    """Make one *call* for each of *items*, at most `MOST_AT_ONCE` at once, and return after the last one.

    Raises:
        Exception: the error of the first call that failed; the other calls were made.
    """
    waiting, errors = deque(items), list[Exception]()

    def work() -> None:
        while True:
            try:
                item = waiting.popleft()
            except IndexError:
                return
            try:
                call(item)
            except Exception as error:  # noqa: BLE001 - it is raised again on the caller's thread
                errors.append(error)

    helpers = [threading.Thread(target=work, name="sedano-end", daemon=True) for _ in range(min(MOST_AT_ONCE, len(waiting)) - 1)]
    for helper in helpers:
        helper.start()
    work()
    for helper in helpers:
        helper.join()
    for error in errors:
        raise error


def release(workers: Iterable[Worker], ports: Ports) -> None:
    """Release the claims of the bodies that still run in *workers*, all with one call; those that are not released expire."""
    given_up = list[GivenUp]()

    def warn(error: SedanoError) -> None:
        ports.telemetry.log("warning", "claims were not released; they expire", error=str(error))

    def give_up(worker: Worker) -> None:
        try:
            given_up.extend(worker.give_up())
        except SedanoError as error:
            warn(error)

    each(give_up, workers)
    try:
        released(ports.ledger, given_up)
    except SedanoError as error:
        warn(error)
