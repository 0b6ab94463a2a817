"""A deduplication key is bound to its arguments: the id of a keyed call's message contains a digest of the arguments. Pure.

Theory. The id of a keyed task is derived from the task's name and the key, so a sender that knows or guesses the key can publish first with
other arguments; the honest call would then count as a copy and get the result of the other call. The ledger keeps the id of the message
that claimed a task (`mid`), and the second call reads it in the record that refuses it. So the id of a keyed message is

    message id = uuid5("keyed" of the task's id and a digest of the arguments) "." a fresh nonce
    retried    = the same, "~" and the attempt

The first part is the same only for the same arguments under the same key. The nonce distinguishes two publications, so that the second is a
copy that does not publish the follow-ups again. This needs no additional write, read or attribute.

Invariants:

* A worker computes the first part from the arguments that it received. An id with a first part of other arguments counts as an unkeyed id.
* The first part is that of the first attempt in every attempt, also after the body asked for other arguments, so a record names the payload
  that took the key.
* A keyed message that is refused by a record of another payload is parked (`id-taken`) and never acknowledged as a copy; it never steals
  the claim of another payload.
* If the record is of another payload, `KeyReused` is raised in a program that published a keyed call and reads its record, and in a program
  that reserves the key.

Limits: after a task was replaced (its next attempt may have any name and any message), the record does not name a payload and counts as the
same payload. A record that an unkeyed message or an earlier version of sedano wrote counts as another payload while its first attempt is
recorded. Arguments are compared in their wire form: ``add(1, 2)`` and ``add(1, y=2)`` are two payloads.
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
    """Return the identifier of these arguments (JSON values, or their claim check *ref*) under the key of *task_id*."""
    if ref is not None:
        return derived_id(task_id, f"keyed/blob/{ref.digest}")
    text = json.dumps([list(args), dict(kwargs)], sort_keys=True, separators=(",", ":"))
    return derived_id(task_id, f"keyed/{sha256(text.encode('ascii')).hexdigest()}")


def message_id(of: str, nonce: str) -> str:
    """Return the id of a message with the payload *of*."""
    return f"{of}.{nonce}"


def payload_of(message: str) -> str:
    """Return the payload in the id of a *message*; "" if it has none."""
    found = _of_payload(message)
    return found[1] if found is not None else ""


def keyed_by(command: Command) -> str:
    """Return the payload of a keyed command; "" for any other command, even if its id has the form of a keyed one."""
    named = payload_of(command.id)
    return named if named and named == payload(command.task_id, command.args, command.kwargs, command.data_ref) else ""


def binds_retries(command: Command) -> bool:
    """Return whether the next attempt of *command* is sent under an id that names the arguments of the first one.

    A later attempt may have other arguments (`current().retry`); its id still names those of the first, which took the key.
    """
    later = bool(command.attempt and payload_of(command.id)) and command.id == retried(command.id, command.attempt)
    return later or bool(keyed_by(command))


def retried(message: str, attempt: int) -> str:
    """Return the id of the message that retries the task of a keyed *message*."""
    return f"{message.partition(TRIED)[0]}{TRIED}{attempt}"


def is_of_another(of: str, record: TaskRecord) -> bool:
    """Return whether *record* belongs to another payload than *of*, which took the key first."""
    if not of or not record.message_id:
        return False
    named = payload_of(record.message_id)
    return named != of and bool(named or record.attempt == (record.state == states.RETRY))
