"""The agendas of periodic tasks in the control table: `sedano.ports.ScheduleStore` by the writes of `sedano.aws.expressions.schedules`.

An occurrence writes the small item of its agenda. The definitions are read again when their digest is not the one that this process knows,
so a scheduler that stays reads sixteen small items a minute, however many schedules there are.

DynamoDB refuses a write of an item that is part of a transaction in progress, and the other way round. Such a write is tried again after a
pause; if it still meets transactions, it counts as not done, as if another write had been first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

from sedano.aws.client import keys
from sedano.aws.client.faults import AWS_ERRORS, fault, is_conflict, reasons_of
from sedano.aws.client.table import Item, Table, tries
from sedano.aws.expressions import Write
from sedano.aws.expressions.schedules import CHANGE, CHANGE_ABSENT, DEFINE, KEEP, KEEP_ABSENT, MOVE
from sedano.errors import MessageRefused, Unavailable
from sedano.model import refusals
from sedano.model.schedules.agenda import (
    AGENDAS,
    Agenda,
    AgendaChanged,
    Periodic,
    agenda_or_refusal,
    read_definitions,
    write_agenda,
    write_definitions,
)
from sedano.model.schedules.schedule_states import read_states, write_states

AGAIN_S = (0.0, 0.05, 0.2)
"""The pauses, in seconds, before an agenda is read again whose definitions changed between the two reads."""
CONFLICT_S = (0.03, 0.1)
"""The pauses, in seconds, before a write is tried again that met a transaction in progress; a transaction takes about 20 ms."""
Found = Agenda | MessageRefused | Unavailable
"""An agenda, or why it cannot be read."""
_REFUSED = "ConditionalCheckFailed"


class _Defined(NamedTuple):
    """The definitions of an agenda as this process last saw them, or why they cannot be read."""

    digest: str
    periodics: dict[str, Periodic] | MessageRefused


class _Stored(NamedTuple):
    """The *nonce* of the item of an agenda as this process last saw or wrote it, and its *digest* (empty: it has none)."""

    nonce: str
    digest: str


class DynamoSchedules:
    """The periodic tasks of one deployment: sixteen agendas of two items, all read with one call, or two.

    Args:
        client: a botocore DynamoDB client.
        table: the control table's name; its partition key is `pk` (a string).
        converts: whether an agenda in one text, of a version that kept it so, is replaced by two items at its first change: as the stage's
            own scheduler does. Any other process may be newer than that scheduler, which could not read the agenda any more.
        sleep: pauses for so many seconds.
    """

    def __init__(self, client: Any, table: str, *, converts: bool = True, sleep: Callable[[float], None] = time.sleep) -> None:
        """Use *table*; no call is made yet."""
        self._client, self._name, self._converts, self._sleep = client, table, converts, sleep
        self._table = Table(client, table)
        self._defined: dict[int, _Defined] = {}
        self._stored: dict[int, _Stored] = {}

    def read(self) -> list[Found]:
        """Return all agendas, strongly consistent, by number; for one that cannot be read, the error."""
        return self._read(range(AGENDAS))

    def change(self, agenda: Agenda, seen: Agenda) -> AgendaChanged:
        """Write *agenda* if the stored agenda is still *seen*."""
        text = write_agenda(agenda)  # refuses what is too large
        if not self._converts and self._form(seen) is None:
            self._read([agenda.number])
        if self._sent(partial(self._whole, text) if self._is_kept(seen) else self._apart, agenda, seen):
            return AgendaChanged(True, agenda)
        (found,) = self._read([agenda.number])
        if not isinstance(found, Agenda):
            raise found
        return AgendaChanged(found.nonce == agenda.nonce, found)

    def _form(self, seen: Agenda) -> str | None:
        """Return the digest that the agenda had when it was *seen*; empty for one in one text or none, None if this is not known."""
        stored = self._stored.get(seen.number)
        return stored.digest if stored is not None and stored.nonce == seen.nonce else None

    def _is_kept(self, seen: Agenda) -> bool:
        """Return whether the agenda that was *seen* must remain in one text, or begin as one."""
        return not self._converts and not self._form(seen)

    def _whole(self, text: str, agenda: Agenda, seen: Agenda) -> bool:
        """Write *agenda* as one *text*; return whether the condition held."""
        values = {**_own(agenda, seen), ":body": {"S": text}}
        done = self._move(agenda.number, KEEP if seen.nonce else KEEP_ABSENT, values)
        if done:
            self._stored[agenda.number] = _Stored(agenda.nonce, "")
        return done

    def _apart(self, agenda: Agenda, seen: Agenda) -> bool:
        """Write the states of *agenda*, and its definitions if they change; return whether the condition held."""
        text = write_definitions(agenda)
        digest = sha256(text.encode()).hexdigest()[:16]
        states = {**_own(agenda, seen), ":body": {"S": write_states(agenda.periodics)}, ":dg": {"S": digest}}
        known = self._defined.get(agenda.number)
        if seen.nonce and known is not None and known.digest == digest and self._form(seen) in (None, digest):
            done = self._move(agenda.number, MOVE, states)
        else:
            done = self._define(agenda.number, CHANGE if seen.nonce else CHANGE_ABSENT, states, text)
        if done:
            self._defined[agenda.number] = _Defined(digest, dict(agenda.periodics))
            self._stored[agenda.number] = _Stored(agenda.nonce, digest)
        return done

    def _sent(self, write: Callable[[Agenda, Agenda], bool], agenda: Agenda, seen: Agenda) -> bool:
        """Return the answer of *write*, which is made again while it meets transactions of others, some times; False after the last."""
        for _ in tries(CONFLICT_S, self._sleep):
            try:
                return write(agenda, seen)
            except Unavailable as error:
                if not isinstance(error.__cause__, Exception) or not is_conflict(error.__cause__):
                    raise
        return False

    def _move(self, number: int, write: Write, states: dict[str, Any]) -> bool:
        """Make *write* of the item of an agenda alone; return whether the condition held."""
        return self._table.update(write, keys.agenda(number), states)[0]

    def _define(self, number: int, write: Write, states: dict[str, Any], definitions: str) -> bool:
        """Replace an agenda with its definitions, which go first; return whether the condition held."""
        defined = {":dg": states[":dg"], ":body": {"S": definitions}}
        parts = [self._part(keys.definitions(number), DEFINE, defined), self._part(keys.agenda(number), write, states)]
        try:
            self._client.transact_write_items(TransactItems=parts)
        except AWS_ERRORS as error:
            if _REFUSED in reasons_of(error):
                return False
            raise fault(error, "dynamodb.TransactWriteItems") from error
        return True

    def _part(self, key: str, write: Write, values: dict[str, Any]) -> dict[str, Any]:
        return {"Update": {"TableName": self._name, "Key": {"pk": {"S": key}}, "ExpressionAttributeValues": values, **write.parameters}}

    def _read(self, numbers: Iterable[int]) -> list[Found]:
        """Return the agendas of these *numbers*; those whose definitions are not the ones of their states are read again, some times."""
        known, found = dict(self._defined), dict[int, Item]()
        wanted = left = [*numbers]
        for _ in tries(AGAIN_S, self._sleep):
            items = self._table.read_together([keys.agenda(number) for number in left])
            found.update({number: items.get(keys.agenda(number), {}) for number in left})
            self._learn(known, [number for number in left if _is_apart(found[number], known.get(number))])
            left = [number for number in left if _is_apart(found[number], known.get(number))]
            if not left:
                break
        # a refusal is not kept: each raise of the same exception would make its traceback longer
        self._defined.update({number: one for number, one in known.items() if not isinstance(one.periodics, MessageRefused)})
        self._stored.update({number: _stored(item) for number, item in found.items()})
        return [_agenda(number, found[number], known.get(number)) for number in wanted]

    def _learn(self, known: dict[int, _Defined], numbers: Sequence[int]) -> None:
        """Read the definitions of the agendas with these *numbers*."""
        items = self._table.read_together([keys.definitions(number) for number in numbers]) if numbers else {}
        for number in numbers:
            item = items.get(keys.definitions(number))
            if item is None:
                known.pop(number, None)
            else:
                known[number] = _Defined(item["dg"]["S"], _definitions_or_refusal(number, item["body"]["S"]))


def _own(agenda: Agenda, seen: Agenda) -> dict[str, Any]:
    """Return the values of a write of *agenda* in either form; *seen* has the nonce that it replaces."""
    mine = {":nc": {"S": agenda.nonce}, ":held": {"N": str(agenda.held)}}
    return {**mine, ":seen": {"S": seen.nonce}} if seen.nonce else mine


def _stored(item: Item) -> _Stored:
    return _Stored(*(item.get(name, {"S": ""})["S"] for name in ("nc", "dg")))


def _is_apart(item: Item, defined: _Defined | None) -> bool:
    """Return whether the *item* of an agenda has other definitions than those that are known."""
    return "dg" in item and (defined is None or defined.digest != item["dg"]["S"])


def _agenda(number: int, item: Item, defined: _Defined | None) -> Found:
    """Return the agenda that *item* contains; an empty item means that no one wrote it yet."""
    if not item:
        return Agenda(number)
    text, nonce, held = item["body"]["S"], item["nc"]["S"], int(item.get("held", {"N": "0"})["N"])
    if "dg" not in item:
        return agenda_or_refusal(number, text, nonce, held)
    if defined is None:
        return MessageRefused(refusals.SCHEMA, f"agenda {number}", "its definitions are missing")
    if _is_apart(item, defined):
        return Unavailable(f"agenda {number}: others changed it during each of {len(AGAIN_S) + 1} attempts to read it")
    if isinstance(defined.periodics, MessageRefused):
        return defined.periodics
    try:
        return Agenda(number, read_states(f"agenda {number}", text, defined.periodics), nonce, held)
    except MessageRefused as refused:
        return refused.as_answer()


def _definitions_or_refusal(number: int, text: str) -> dict[str, Periodic] | MessageRefused:
    try:
        return read_definitions(number, text)
    except MessageRefused as refused:
        return refused.as_answer()
