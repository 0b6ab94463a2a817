"""The check of the worker settings that an app declares; see `Sedano(worker=…)`."""

from __future__ import annotations

from sedano.engine.worker.settings import WorkerSettings
from sedano.errors import OptionError
from sedano.model.number_ranges import is_count, is_number
from sedano.model.retry import MAX_EXECUTIONS

_COUNTS = {
    "concurrency": (1, 1_000, ""),
    "lanes": (0, 16, ", as many as there are connections to the ledger"),
    "window": (0, 100_000, ""),
    "poison_after": (1, MAX_EXECUTIONS, ", after which every task ends"),
}
_SECONDS = {
    "guard": (0.0, 890.0, ": Lambda ends an invocation after 900 s, and a body needs time"),
    "heartbeat": (0.0, 120.0, ": a worker that was silent for 150 s counts as lost"),
}
_FLAGS = ("unsigned_inbox", "inline_links")


def check(settings: object) -> None:
    """Check that a worker can honour *settings*.

    Raises:
        OptionError: it cannot; the message names the field and its valid values.
    """
    if not isinstance(settings, WorkerSettings):
        raise OptionError(f"worker: expected sedano.WorkerSettings(…), got {type(settings).__name__}")
    for name, (least, most, why) in _COUNTS.items():
        value = getattr(settings, name)
        if not is_count(value, least, most):
            raise OptionError(f"worker.{name}: {value!r} is not a whole number from {least} to {most}{why}")
    for name, (shortest, longest, why) in _SECONDS.items():
        value = getattr(settings, name)
        if not is_number(value, shortest, longest):
            raise OptionError(f"worker.{name}: {value!r} is not a number of seconds from {shortest:g} to {longest:g}{why}")
    wrong = next((name for name in _FLAGS if type(getattr(settings, name)) is not bool), None)
    if wrong is not None:
        raise OptionError(f"worker.{wrong}: {getattr(settings, wrong)!r} is not True or False")
    if settings.visibility is not None and not is_number(settings.visibility, 3.0, 43_200.0):
        hint = "leave it out where the queue hides messages until the deadline of their batch, as on Lambda"
        raise OptionError(f"worker.visibility: {settings.visibility!r} is not a number of seconds from 3 to 43200; {hint}")
