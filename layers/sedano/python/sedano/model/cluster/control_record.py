"""The record that every worker of a cluster must know: the hello of Celery's mingle, as one small record. Pure.

A worker that starts cold reads it once: the cluster's clock, the headers whose tasks are revoked, the queues that are paused. It changes
by compare-and-swap, so two who change it at once lose neither change.

A revoked header is a pair such as ``tenant=acme``: every task whose message has it is revoked at its claim, for as long as the pair exists,
retries and descendants too. A pair of one task's tree (`ONE_TREE`) is removed when no message of that tree can be left; every other holds
until it is restored. The record is one item, so there is a limit to what it holds (`MOST_BYTES`). Headers are the attributes of a command
that `HEADERS` names, and its stamps.
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
"""Headers that name one task's tree. A message older than its task's record never runs without it (`sedano.model.ledger.claims`), so
neither does a message of that tree: the pair has done its work."""
QUEUE = "queue"
"""The header that is in no message but known to its receiver: the name of the queue that it was received from."""
MOST_BYTES = 300_000
"""The longest that all pairs together may be: an item of DynamoDB holds 400 KB, and every worker reads this one."""
_EACH_BYTES = 20
_MICRO = 1_000_000
_CLOCKS_DIFFER_S = 60
_LONGEST_CLOCK = 20
NO_PAIRS: Mapping[str, int] = MappingProxyType({})
NO_TEXTS: Mapping[str, str] = MappingProxyType({})


class ControlRecord(NamedTuple):
    """The record: *clock* and *nonce* of its last change, *revoked* pairs (since when, epoch s), *paused*: pauses as texts
    (`sedano.model.pauses`), *asked*: whether the inbox asks anything (`sedano.model.cluster.inbox`), *config*: the last announcement of a
    new configuration, *wished*: how many bodies at once a queue is to have, by its name (`sedano.model.cluster.scale`)."""

    clock: int = 0
    nonce: str = ""
    revoked: Mapping[str, int] = NO_PAIRS
    paused: frozenset[str] = frozenset()
    limits: Mapping[str, str] = NO_TEXTS
    asked: str = ""
    config: str = ""
    wished: Mapping[str, int] = NO_PAIRS


class Changed(NamedTuple):
    """The answer to a change: *done* with the record as it is now, or refused with the record that is in the way."""

    done: bool
    record: ControlRecord


def pair(header: str, value: str) -> str:
    """Return the pair of *header* (one of `HEADERS`, or a stamp's name) and *value*.

    Raises:
        OptionError: tasks cannot be revoked by that header, or the value is empty.
    """
    if header not in HEADERS and not stamps.is_name(header):
        raise OptionError(f"header: {header!r} is not one of {', '.join(HEADERS)}, and no stamp has such a name")
    if not value:
        raise OptionError(f"value: {header} needs one")
    return f"{header}={value}"


def pairs_of(command: Command) -> dict[str, str | None]:
    """Return the headers and stamps of *command*; a root task is its own root."""
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
    """Return the revoked pair of *command*, received from the queue of this name, or None."""
    if not record.revoked:
        return None
    headers = pairs_of(command) | ({QUEUE: queue} if queue else {})
    borne = (f"{header}={value}" for header, value in headers.items() if value)
    return next((found for found in borne if found in record.revoked), None)


def with_revoked(record: ControlRecord, found: str, clock: int, nonce: str) -> ControlRecord:
    """Return *record* with the pair *found* revoked; pairs that have done their work go.

    Raises:
        TooLarge: the record would hold more than `MOST_BYTES` of pairs.
    """
    now = clock // _MICRO
    revoked = {one: since for one, since in record.revoked.items() if not _done(one, since, now)}
    revoked.setdefault(found, now)
    size = sum(len(one.encode()) + _EACH_BYTES for one in revoked)
    if size > MOST_BYTES:
        raise TooLarge(f"revoked headers: {len(revoked)} pairs have {size} bytes of {MOST_BYTES}; restore some with restore_by_header")
    return _changed(record, clock, nonce, revoked=revoked)


def without(record: ControlRecord, found: str, clock: int, nonce: str) -> ControlRecord:
    """Return *record* with the pair *found* not revoked any more."""
    return _changed(record, clock, nonce, revoked={one: since for one, since in record.revoked.items() if one != found})


def with_pauses(record: ControlRecord, paused: frozenset[str], clock: int, nonce: str) -> ControlRecord:
    """Return *record* with these pauses (`sedano.model.pauses`) and no others."""
    return _changed(record, clock, nonce, paused=paused)


def with_limits(record: ControlRecord, task: str, text: str, clock: int, nonce: str) -> ControlRecord:
    """Return *record* with the changed limits of *task* (`sedano.model.limits.task_limits`); an empty text takes them away."""
    rest = {name: kept for name, kept in record.limits.items() if name != task}
    return _changed(record, clock, nonce, limits={**rest, task: text} if text else rest)


def with_wish(record: ControlRecord, queue: str, number: int | None, clock: int, nonce: str) -> ControlRecord:
    """Return *record* with the wish that *queue* has *number* bodies at once; None takes the wish back."""
    rest = {name: kept for name, kept in record.wished.items() if name != queue}
    return _changed(record, clock, nonce, wished=rest if number is None else {**rest, queue: number})


def with_asked(record: ControlRecord, asked: str, clock: int, nonce: str) -> ControlRecord:
    """Return *record* with the announcement *asked* of what the inbox holds."""
    return _changed(record, clock, nonce, asked=asked)


def with_config(record: ControlRecord, clock: int, nonce: str) -> ControlRecord:
    """Return *record* with the announcement of a new configuration: its text differs from each one before."""
    return _changed(record, clock, nonce, config=f"{max(clock, record.clock + 1)} {nonce}")


def was_announced_before(announced: str, moment: float) -> bool:
    """Return whether the new configuration of the text *announced* was so a minute or more before *moment* (epoch s).

    The minute is for clocks that differ.
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
