"""A deduplication key binds its arguments: the message of a keyed call says by its own id which arguments it is about. Pure.

Theory. The id of a keyed task is derived from the task's name and the key, so a sender that knows the key, or guesses it, can be first with
other arguments; the honest call would then be taken for a copy and be answered with the other's result. The ledger keeps the id of the
message that claimed a task (`mid`), and the second call meets it in the record that refuses it. So the id of a keyed message is

    message id = uuid5("keyed" of the task's id and a digest of the arguments) "." a fresh nonce
    retried    = the same, "~" and the attempt

The first part is the same for the same arguments under the same key, and for nothing else; the nonce keeps two publications apart, so that
the second is a copy that publishes no follow-ups again. No write, no read and no attribute is added to what was done before.

Invariants:

* A worker computes the first part from the arguments that it received. An id that claims to be of other arguments is an id like any other.
* A keyed message that is refused by a record of another payload is parked (`id-taken`), never acknowledged as a copy; it never steals the
  claim of another payload.
* A program that published a keyed call and reads its record gets `KeyReused` when the record is of another payload, and so does a program
  that reserves the key.

Limits: after a replaced task (its next attempt has any name and any message) the record names no payload, and counts as the
same. A record that an unkeyed message, or a version before this one, has made counts as another payload while its first attempt is
recorded.
Arguments are compared as they travel: ``add(1, 2)`` and ``add(1, y=2)`` are two payloads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from sedano.model import states
from sedano.model.ledger.records import TaskRecord
from sedano.model.messages.lineage import TRIED, derived_id
from sedano.model.messages.message import BlobRef, Command

_DERIVED = "[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_of_payload = re.compile(rf"({_DERIVED})\.[!-}}]{{1,100}}(?:~[0-9]{{1,6}})?").fullmatch


def payload(task_id: str, args: Sequence[Any], kwargs: Mapping[str, Any], ref: BlobRef | None = None) -> str:
    """Return what names these arguments (JSON values, or their claim check) under the key of *task_id*."""
    if ref is not None:
        return derived_id(task_id, f"keyed/blob/{ref.digest}")
    text = json.dumps([list(args), dict(kwargs)], sort_keys=True, separators=(",", ":"))
    return derived_id(task_id, f"keyed/{sha256(text.encode('ascii')).hexdigest()}")


def message_id(of: str, nonce: str) -> str:
    """Return the id of a message about the payload *of*."""
    return f"{of}.{nonce}"


def payload_of(message: str) -> str:
    """Return the payload that the id of a *message* names; "" when it names none."""
    found = _of_payload(message)
    return found[1] if found is not None else ""


def keyed_by(command: Command) -> str:
    """Return the payload of a keyed command; "" for any other, whatever its id looks like."""
    named = payload_of(command.id)
    return named if named and named == payload(command.task_id, command.args, command.kwargs, command.data_ref) else ""


def retried(message: str, attempt: int) -> str:
    """Return the id of the message that tries again what a keyed *message* asked for."""
    return f"{message.partition(TRIED)[0]}{TRIED}{attempt}"


def is_of_another(of: str, record: TaskRecord) -> bool:
    """Return whether *record* is not of the payload *of*: another payload took the key first."""
    if not of or not record.message_id:
        return False
    named = payload_of(record.message_id)
    return named != of and bool(named or record.attempt == (record.state == states.RETRY))
