"""A signature: a task with its arguments and options, as a value that can be passed, changed by copying, and published.

The term and the methods are those of Celery. `Options` is closed and checked: an option that cannot be honoured raises `OptionError`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Literal, NamedTuple

from sedano.errors import ArgumentError, OptionError, UnknownOption
from sedano.model.messages import headers, stamps
from sedano.model.messages.lineage import is_text
from sedano.model.messages.message import NOTHING, TimeLimits
from sedano.model.messages.strict_json import shown
from sedano.model.packs import LONGEST_LIMIT_S, is_reserved

Delivery = Literal["claimed", "record_once", "at_least_once"]
OnDuplicate = Literal["return", "wait", "drop", "raise"]
DELIVERIES: tuple[Delivery, ...] = ("claimed", "record_once", "at_least_once")
ON_DUPLICATE: tuple[OnDuplicate, ...] = ("return", "wait", "drop", "raise")
MOST_SECONDS = 250_000_000_000.0
"""Seconds. A time further away than this cannot be written as a date."""
MAX_DELAY_S = 366 * 86_400.0
"""The longest countdown (s): a year. A timer keeps a message if its delay is longer than a queue allows (900 s)."""
RESERVED = "task_id: {} has the form of the ids of groups in packs; choose another id, such as one without the k after the dot"
"""Why an id cannot be chosen, in words."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one publication, which override those of the task.

    *countdown*: the seconds until it may run. *eta*: the time from which it may run. *expires*: the seconds after publication, or the time,
    after which it must not start (times are datetimes with a time zone). *dedup_key*: publications with the same key are one task.
    *on_duplicate*: the behaviour of a second publication (``return`` the same result, ``wait`` for it, ``drop`` the second before it is
    published, ``raise`` `DuplicateTask`). *serial_key*: the key within which its FIFO queue keeps the order, in place of the task's key.
    *priority*: the band: the call is sent to the queue ``<queue>-<band>``. *tenant*: the tenant of the task (for fairness and cost).
    *stamps*: strings by name that are passed to every task that this one causes; a publication in a task inherits the stamps of that task.
    *headers*: JSON values by name, at most 1 024 bytes, that the body reads as ``current().headers``; retries keep them, other tasks do not
    inherit them. *traceparent* and *tracestate* (W3C Trace Context) name the caller's span; by default that of the running task.
    """

    queue: str | None = None
    task_id: str | None = None
    countdown: float | None = None
    eta: datetime | None = None
    expires: float | datetime | None = None
    dedup_key: str | None = None
    on_duplicate: OnDuplicate | None = None
    ignore_result: bool | None = None
    tenant: str | None = None
    traceparent: str | None = None
    tracestate: str | None = None
    budget: int | None = None
    stamps: Mapping[str, str] | None = None
    headers: Mapping[str, Any] | None = None
    time_limit: float | None = None
    soft_time_limit: float | None = None
    serial_key: str | None = None
    priority: str | None = None

    def __post_init__(self) -> None:
        """Raise `OptionError` for options that contradict each other."""
        self._check_types()
        self._check_times()
        if self.on_duplicate is not None and self.on_duplicate not in ON_DUPLICATE:
            raise OptionError(f"on_duplicate: {self.on_duplicate!r} is not one of {', '.join(ON_DUPLICATE)}")
        if self.dedup_key is not None:
            self._check_key(self.dedup_key)
        if self.budget is not None and self.budget < 0:
            raise OptionError(f"budget: {self.budget} is negative")
        if self.stamps:
            stamps.write(self.stamps)
        if self.headers:
            headers.write(self.headers)

    def _check_types(self) -> None:
        """Raise `OptionError` for a wrong type; strings that become attributes of the message are checked when the message is written."""
        for name, kinds, wanted in _KINDS:
            value = getattr(self, name)
            if value is not None and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
                raise OptionError(f"{name}: expected {wanted}, got {type(value).__name__}")
        if self.task_id is not None and is_reserved(self.task_id):
            raise OptionError(RESERVED.format(self.task_id))
        for name in ("queue", "task_id", "tenant", "serial_key", "priority"):
            if getattr(self, name) == "":
                raise OptionError(f"{name}: is empty; omit it or give a value")

    def _check_key(self, key: str) -> None:
        if self.task_id is not None:
            raise OptionError("dedup_key, task_id: give only one of them; the key determines the id")
        if not is_text(key):
            raise OptionError(f"dedup_key: {key[:60]!a} has half a surrogate pair, which is not text; give text that UTF-8 can encode")

    def _check_times(self) -> None:
        if self.countdown is not None and self.eta is not None:
            raise OptionError("countdown, eta: give only one of them")
        if self.countdown is not None and not self.countdown >= 0:
            raise OptionError(f"countdown: {self.countdown} is in the past")
        if isinstance(self.expires, int | float) and not abs(self.expires) < MOST_SECONDS:
            raise OptionError(f"expires: {shown(self.expires)} is not a valid time; give seconds from now, at most {MOST_SECONDS:.0f}")
        for name in ("time_limit", "soft_time_limit"):
            seconds = getattr(self, name)
            if seconds is not None and not 1e-6 <= seconds <= LONGEST_LIMIT_S:
                raise OptionError(f"{name}: {shown(seconds)} is not a number of seconds above 0, at most {LONGEST_LIMIT_S:.0f}")
        for name, moment in (("eta", self.eta), ("expires", self.expires)):
            if isinstance(moment, datetime) and moment.utcoffset() is None:
                raise OptionError(f"{name}: {moment.isoformat()} has no time zone; give it one, such as datetime.now(UTC)")


_SECONDS = (int, float)
_KINDS: tuple[tuple[str, tuple[type, ...], str], ...] = (
    ("queue", (str,), "the name of a queue"), ("task_id", (str,), "a string"), ("dedup_key", (str,), "a string"),
    ("tenant", (str,), "a string"), ("time_limit", _SECONDS, "a number of seconds"), ("soft_time_limit", _SECONDS, "a number of seconds"),
    ("countdown", _SECONDS, "a number of seconds"), ("eta", (datetime,), "a datetime with a time zone"),
    ("expires", (*_SECONDS, datetime), "a number of seconds, or a datetime with a time zone"),
    ("ignore_result", (bool,), "True or False"), ("budget", (int,), "an integer"),
    ("stamps", (Mapping,), "a mapping of names to strings"), ("headers", (Mapping,), "a mapping of names to JSON values"),
    ("serial_key", (str,), "a string"),
    ("priority", (str,), "the name of a band, such as 'high', whose queue <queue>-high the app names"),
)  # fmt: skip
NO_OPTIONS = Options()
OPTION_NAMES = tuple(f.name for f in fields(Options))


class Signature(NamedTuple):
    """A call of *task* by name, as data; an *immutable* one ignores the results that a canvas passes on (Celery's `si`)."""

    task: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = NOTHING
    options: Options = NO_OPTIONS
    immutable: bool = False

    def set(self, **options: Any) -> Signature:
        """Return a copy with these options changed; *stamps* are added to those of the signature.

        Raises:
            OptionError: an option is unknown or contradicts another.
        """
        return self._replace(options=changed(self.options, options))

    def clone(self, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Signature:
        """Return a copy with *args* before its arguments, and with *kwargs*, which override its own; an immutable one is unchanged."""
        if self.immutable:
            return self
        first, named = given(args, kwargs)
        return self._replace(args=first + self.args, kwargs={**self.kwargs, **named})


def given(args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """Return the arguments of a call that were passed as data, as in Celery: a list or a tuple, and a mapping.

    Raises:
        ArgumentError: they have another type, for example because the only argument was passed without a list.
    """
    if not isinstance(args, list | tuple):
        raise ArgumentError("args", f"expected a list or a tuple of arguments, got {type(args).__name__}")
    if not isinstance(kwargs, Mapping | None):
        raise ArgumentError("kwargs", f"expected a mapping of names to arguments, got {type(kwargs).__name__}")
    return tuple(args), kwargs or {}


def changed(options: Options, changes: Mapping[str, Any]) -> Options:
    """Return *options* with *changes*; raise `UnknownOption` for a name that is not an option."""
    if not changes:
        return options
    unknown = sorted(set(changes) - set(OPTION_NAMES))
    if unknown:
        raise UnknownOption(unknown[0], OPTION_NAMES)
    new = replace(options, **changes)
    return replace(new, stamps={**options.stamps, **new.stamps}) if options.stamps and new.stamps else new


def time_limits_of(options: Options, usual: TimeLimits | None) -> TimeLimits | None:
    """Return the time limits that *options* set for one call of a task with the *usual* limits; None if they do not set any.

    Raises:
        OptionError: the soft limit is not below the hard one, so the hard limit would end the body first.
    """
    if options.time_limit is None and options.soft_time_limit is None:
        return None
    limits = TimeLimits(options.soft_time_limit, options.time_limit)
    found = limits.over(usual)
    if limits.soft is not None and found.soft is None:
        raise OptionError(f"soft_time_limit: {limits.soft:g} is not below time_limit: {found.hard:g}")
    return limits


def delay_of(options: Options, now: float, most: float = MAX_DELAY_S) -> int:
    """Return the whole seconds by which to delay the message; 0 for a time in the past, as in Celery.

    Raises:
        OptionError: the time is more than *most* seconds away.
    """
    if options.countdown is None and options.eta is None:
        return 0
    name = "countdown" if options.countdown is not None else "eta"
    seconds = options.countdown if options.countdown is not None else (options.eta.timestamp() - now if options.eta else 0.0)
    if seconds > most:
        raise OptionError(f"{name}: {seconds:.0f} s is longer than a task can wait here, {most:.0f} s ({most / 86_400:.0f} days)")
    return max(0, -int(-seconds // 1))


def expiry_of(options: Options, default: float | None, now: float) -> float | None:
    """Return when a message published at *now* expires (epoch s): by its *options*, else *default* seconds later, else never."""
    expires = options.expires if options.expires is not None else default
    if isinstance(expires, datetime):
        return expires.timestamp()
    return now + expires if expires is not None else None


def call_text(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return the arguments as they appear in a call, each as JSON: ``7, order="x"``."""
    named = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in kwargs.items())
    return ", ".join((*(json.dumps(value, ensure_ascii=False) for value in args), *named))
