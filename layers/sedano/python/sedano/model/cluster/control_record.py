"""The record that every worker of a cluster reads: the content of Celery's `hello` reply (mingle), as one small record. Pure.

A worker reads it at a cold start: the cluster's clock, the headers whose tasks are revoked, the queues that are paused. It changes by
compare-and-swap, so no change is lost if two programs write it at the same time.

A revoked header is a pair such as ``tenant=acme``: every task whose message has it is revoked at its claim, including retries and
descendants, for as long as the pair exists. A pair that names the tree of one task (`ONE_TREE`) is removed when no message of that tree can
be left; any other pair remains until it is restored. The record is one item, so its size is limited (`MOST_BYTES`). Headers are the
attributes of a command in `HEADERS`, and its stamps.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from sedano.errors import OptionError, TooLarge
from sedano.model.ledger.records import RECORD_LIFETIME_S
from sedano.model.messages import stamps
from sedano.model.messages.message import Command
from sedano.model.messages.stamps import HEADERS

ONE_TREE = ("root_id", "parent_id")
"""Headers that name the tree of one task. A message that is older than a record's lifetime does not run without a record
(`sedano.model.ledger.claims`), so after that time the pair has no effect and is removed.
"""
QUEUE = "queue"
"""A header that is not in the message: the name of the queue from which the worker received it."""
MOST_BYTES = 300_000
"""The most bytes of all pairs together: an item of DynamoDB holds 400 KB, and every worker reads this one."""
_EACH_BYTES = 20
_MICRO = 1_000_000
_CLOCKS_DIFFER_S = 60
_LONGEST_CLOCK = 20
NO_PAIRS: Mapping[str, int] = MappingProxyType({})
NO_TEXTS: Mapping[str, str] = MappingProxyType({})


class ControlRecord(NamedTuple):
    """The record. *clock* and *nonce* are those of its last change. *revoked*: the revoked pairs, each with the time since when (epoch s).
    *paused*: pauses as strings (`sedano.model.pauses`). *limits*: changed limits by task (`sedano.model.limits.task_limits`). *asked*: the
    announcement of entries in the inbox (`sedano.model.cluster.inbox`). *config*: the last announcement of a new configuration. *wished*:
    the total concurrency of each scaled queue, by its name (`sedano.model.cluster.scale`).
    """

    clock: int = 0
    nonce: str = ""
    revoked: Mapping[str, int] = NO_PAIRS
    paused: frozenset[str] = frozenset()
    limits: Mapping[str, str] = NO_TEXTS
    asked: str = ""
    config: str = ""
    wished: Mapping[str, int] = NO_PAIRS


class Changed(NamedTuple):
    """The answer to a change: *done* with the new record, or refused with the current record."""

    done: bool
    record: ControlRecord


def pair(header: str, value: str) -> str:
    """Return the pair of *header* (one of `HEADERS`, or a stamp's name) and *value*.

    Raises:
        OptionError: tasks cannot be revoked by that header, or the value is empty.
    """
    if header not in HEADERS and not stamps.is_name(header):
        raise OptionError(f"header: {header!r} is not one of {', '.join(HEADERS)}, and not a valid name of a stamp")
    if not value:
        raise OptionError(f"value: {header} needs a value that is not empty")
    return f"{header}={value}"


def pairs_of(command: Command) -> dict[str, str | None]:
    """Return the headers and stamps of *command*; the root of a root task is the task itself."""
    lineage = command.lineage
    return {
        **stamps.read(command.stamps),
        "tenant": command.tenant,
        "task": command.task,
        "root_id": lineage.root_id or command.task_id,
        "parent_id": lineage.parent_id,
        "source": command.source,
    }


def revoked_by(record: ControlRecord, command: Command, queue: str = "") -> str | None:
    """Return the pair by which *command*, received from the queue named *queue*, is revoked; None if it is not."""
    if not record.revoked:
        return None
    headers = pairs_of(command) | ({QUEUE: queue} if queue else {})
    borne = (f"{header}={value}" for header, value in headers.items() if value)
    return next((found for found in borne if found in record.revoked), None)


def with_revoked(record: ControlRecord, found: str, clock: int, nonce: str) -> ControlRecord:
    """Return *record* with the pair *found* revoked, and without the pairs that no longer have an effect.

    Raises:
        TooLarge: the pairs would have more than `MOST_BYTES`.
    """
    now = clock // _MICRO
    revoked = {one: since for one, since in record.revoked.items() if not _done(one, since, now)}
    revoked.setdefault(found, now)
    size = sum(len(one.encode()) + _EACH_BYTES for one in revoked)
    if size > MOST_BYTES:
        raise TooLarge(f"revoked headers: {len(revoked)} pairs have {size} bytes of {MOST_BYTES}; restore some with restore_by_header")
    return _changed(record, clock, nonce, revoked=revoked)


def without(record: ControlRecord, found: str, clock: int, nonce: str) -> ControlRecord:
    """Return *record* without the revoked pair *found*."""
    return _changed(record, clock, nonce, revoked={one: since for one, since in record.revoked.items() if one != found})


def with_pauses(record: ControlRecord, paused: frozenset[str], clock: int, nonce: str) -> ControlRecord:
    """Return *record* with exactly these pauses (`sedano.model.pauses`)."""
    return _changed(record, clock, nonce, paused=paused)


def with_limits(record: ControlRecord, task: str, text: str, clock: int, nonce: str) -> ControlRecord:
    """Return *record* with the changed limits of *task* (`sedano.model.limits.task_limits`); an empty string removes them."""
    rest = {name: kept for name, kept in record.limits.items() if name != task}
    return _changed(record, clock, nonce, limits={**rest, task: text} if text else rest)


def with_wish(record: ControlRecord, queue: str, number: int | None, clock: int, nonce: str) -> ControlRecord:
    """Return *record* with a total concurrency of *number* for *queue*; None removes it."""
    rest = {name: kept for name, kept in record.wished.items() if name != queue}
    return _changed(record, clock, nonce, wished=rest if number is None else {**rest, queue: number})


def with_asked(record: ControlRecord, asked: str, clock: int, nonce: str) -> ControlRecord:
    """Return *record* with *asked*, the announcement of entries in the inbox."""
    return _changed(record, clock, nonce, asked=asked)


def with_config(record: ControlRecord, clock: int, nonce: str) -> ControlRecord:
    """Return *record* with the announcement of a new configuration; its text differs from all earlier ones."""
    return _changed(record, clock, nonce, config=f"{max(clock, record.clock + 1)} {nonce}")


def was_announced_before(announced: str, moment: float) -> bool:
    """Return whether the text *announced* announced a new configuration a minute or more before *moment* (epoch s).

    The minute allows for clocks that differ.
    """
    clock = announced.partition(" ")[0]
    return clock.isascii() and clock.isdigit() and len(clock) <= _LONGEST_CLOCK and int(clock) < (moment - _CLOCKS_DIFFER_S) * _MICRO


def _done(found: str, since: int, now: int) -> bool:
    return found.partition("=")[0] in ONE_TREE and since < now - RECORD_LIFETIME_S


def _changed(
    record: ControlRecord, clock: int, nonce: str, *, revoked: Mapping[str, int] | None = None, paused: frozenset[str] | None = None,
    limits: Mapping[str, str] | None = None, asked: str | None = None, config: str | None = None,
    wished: Mapping[str, int] | None = None,
) -> ControlRecord:  # fmt: skip
    return ControlRecord(
        clock=max(clock, record.clock + 1), nonce=nonce, revoked=record.revoked if revoked is None else revoked,
        paused=record.paused if paused is None else paused, limits=record.limits if limits is None else limits,
        asked=record.asked if asked is None else asked, config=record.config if config is None else config,
        wished=record.wished if wished is None else wished,
    )  # fmt: skip
