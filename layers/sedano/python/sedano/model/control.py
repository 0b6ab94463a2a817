"""What every worker of a cluster must know: the hello of Celery's mingle, as one small record. Pure.

A worker that starts cold reads it once: the cluster's clock, the headers whose tasks are revoked, the version of the configuration, the
queues that are paused. It changes by compare-and-swap, so two who change it at once lose neither change.

A revoked header is a pair such as ``tenant=acme``: every task whose message bears it is revoked at its claim, for as long as the pair
stands, retries and descendants too. Headers are the attributes of a command that `HEADERS` names, and its stamps.
"""

from __future__ import annotations

from typing import NamedTuple

from sedano.errors import OptionError
from sedano.model import stamps
from sedano.model.messages import Command
from sedano.model.stamps import HEADERS


class ControlRecord(NamedTuple):
    """The record: *clock* and *nonce* of its last change, revoked pairs, the configuration's *version*, *paused* queues."""

    clock: int = 0
    nonce: str = ""
    revoked: frozenset[str] = frozenset()
    version: int = 0
    paused: frozenset[str] = frozenset()


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
        raise OptionError(f"header: {header!r} is none of {', '.join(HEADERS)}, and no stamp has such a name")
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


def revoked_by(record: ControlRecord, command: Command) -> str | None:
    """Return the revoked pair that *command* bears, or None."""
    if not record.revoked:
        return None
    borne = (f"{header}={value}" for header, value in pairs_of(command).items() if value)
    return next((found for found in borne if found in record.revoked), None)


def with_revoked(record: ControlRecord, found: str, clock: int, nonce: str) -> ControlRecord:
    """Return *record* with the pair *found* revoked."""
    return record._replace(revoked=record.revoked | {found}, clock=max(clock, record.clock + 1), nonce=nonce)


def without(record: ControlRecord, found: str, clock: int, nonce: str) -> ControlRecord:
    """Return *record* with the pair *found* not revoked any more."""
    return record._replace(revoked=record.revoked - {found}, clock=max(clock, record.clock + 1), nonce=nonce)
