"""Changing the control record: read it when it is not known, change it by compare-and-swap, and again if another change was first."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sedano.errors import Unavailable
from sedano.model.circuits import closed, from_text, to_text
from sedano.model.cluster.control_record import ControlRecord
from sedano.model.cluster.members import STALE_S, ActiveTask, Member, active, view
from sedano.model.configuration.fields import ConfigField
from sedano.model.configuration.stage_values import STAGE_VALUES, with_value
from sedano.model.memos import CIRCUIT, Memo, memo_name
from sedano.model.messages.lamport import LamportClock
from sedano.model.pauses import PauseCause, cause_name
from sedano.ports import Ports

TRIES = 8
Alter = Callable[[ControlRecord, int, str], ControlRecord]
"""Returns the record with a change, stamped with a clock and a nonce."""


class Controlling:
    """Changes the control record of one deployment and remembers it: one write a change unless another process changed it."""

    __slots__ = ("_known", "_lamport", "_ports")

    def __init__(self, ports: Ports, lamport: LamportClock) -> None:
        """Change it over *ports*; nothing is known yet."""
        self._ports = ports
        self._lamport = lamport
        self._known: ControlRecord | None = None

    def change(self, alter: Alter) -> ControlRecord:
        """Make the change that *alter* describes and return the record as it is then.

        Raises:
            Unavailable: the store did not answer, or others changed the record under each attempt; trying again is safe.
        """
        seen = self._known or self._ports.control.read()
        for _ in range(TRIES):
            record = alter(seen, self._lamport.forward(), self._ports.entropy.nonce())
            answer = self._ports.control.change(record, seen)
            self._known = seen = answer.record
            if answer.done:
                return answer.record
        raise Unavailable(f"control record: others changed it under each of {TRIES} attempts")


def close_circuit(ports: Ports, name: str) -> None:
    """Close the shared circuit *name*, if it is one: nothing is held against it any more.

    Raises:
        Unavailable: the store did not answer, or others changed it under each attempt; trying again is safe.
    """
    memo = memo_name(CIRCUIT, name)
    seen = ports.memos.read([memo]).get(memo, Memo(memo))
    for _ in range(TRIES):
        if not seen.text:
            return
        answer = ports.memos.change(Memo(memo, to_text(closed(from_text(seen.text))), ports.entropy.nonce()), seen)
        if answer.done:
            return
        seen = answer.memo
    raise Unavailable(f"circuit {name}: others changed it under each of {TRIES} attempts")


def keep_cause(ports: Ports, kind: str, name: str, cause: PauseCause) -> None:
    """Keep the *cause* of the pause of *kind* and *name*, in place of the one before; an empty one is written only over another.

    Raises:
        Unavailable: the store did not answer, or others changed it under each attempt; trying again is safe.
    """
    memo = cause_name(kind, name)
    seen = ports.memos.read([memo]).get(memo, Memo(memo))
    for _ in range(TRIES):
        if seen.text == cause.text:
            return
        answer = ports.memos.change(Memo(memo, cause.text, ports.entropy.nonce()), seen)
        if answer.done:
            return
        seen = answer.memo
    raise Unavailable(f"cause of the pause of {kind} {name}: others changed it under each of {TRIES} attempts")


def keep_stage_value(ports: Ports, fields: Mapping[str, ConfigField], path: str, value: str | None) -> None:
    """Set the field *path* in the layer `stage:` of the configuration; None takes its value away.

    Raises:
        OptionError: no field has this path, it is secret, or the value does not fit its type.
        Unavailable: the store did not answer, or others changed it under each attempt; trying again is safe.
    """
    seen = ports.memos.read([STAGE_VALUES]).get(STAGE_VALUES, Memo(STAGE_VALUES))
    for _ in range(TRIES):
        text = with_value(seen.text, fields, path, value)
        answer = ports.memos.change(Memo(STAGE_VALUES, text, ports.entropy.nonce()), seen)
        if answer.done:
            return
        seen = answer.memo
    raise Unavailable(f"layer stage: others changed it under each of {TRIES} attempts")


def members(ports: Ports, stale: float = STALE_S) -> list[Member]:
    """Return every member as it is now, by name; *stale*: seconds after which a heartbeat says nothing any more."""
    found = ports.members.read()
    now = ports.clock.now()
    silent = [task_id for member in found if now - member.seen > stale for task_id in member.tasks]
    records = ports.ledger.read(list(dict.fromkeys(silent))) if silent else {}
    return [view(member, records, now, stale) for member in found]


def active_tasks(ports: Ports, stale: float = STALE_S) -> dict[str, list[ActiveTask]]:
    """Return the tasks that each live worker runs, by its name: one query of the members, and one read of the records that they name."""
    found = ports.members.read()
    now = ports.clock.now()
    named = dict.fromkeys(task_id for member in found for task_id in member.tasks)
    records = ports.ledger.read(list(named)) if named else {}
    return {member.name: active(member, records) for member in found if view(member, records, now, stale).alive}
