"""An agenda: one of sixteen parts of the periodic tasks of a deployment; and its changes. Pure.

A periodic task is a schedule, the call that each occurrence makes, and the decisions so far. All periodic tasks of an agenda change by one
compare-and-swap, so a controller decides all its due occurrences with one write, and reads all agendas with one call. A schedule that is
declared in code has the digest of its declaration: a changed declaration replaces it; an unchanged one keeps the changes that an operator
made at run time. A store may keep an agenda as one text (`write_agenda`), or its definitions apart from its states (`write_definitions`,
`sedano.model.schedules.schedule_states`).

An agenda with pending moments is held by the controller that wrote these: the write that decides them also sets a time until which other
controllers do not publish from the agenda (`claimed`). After that time, another controller takes over the moments of a dead one with one
more compare-and-swap.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from zlib import crc32

from sedano.errors import MessageRefused, OptionError, TooLarge
from sedano.model import refusals
from sedano.model.messages import stamps
from sedano.model.messages.attributes import is_name, is_tenant
from sedano.model.messages.message import NOTHING
from sedano.model.messages.timestamps import LAST_SECOND
from sedano.model.schedules.schedule import Schedule, State, edited
from sedano.model.schedules.timetable import read_timetable, written

AGENDAS = 16
MOST_BYTES = 350_000
"""The most bytes of an agenda's text: an item of DynamoDB holds 400 KB."""
MOST_MOMENTS = 10_000
"""The most moments that are read as pending or running; a decision writes a twentieth of this number."""
HOLD_S = 20
"""How long (s) only the controller that claimed an agenda publishes from it; after that, another controller takes it over."""
MOST_CALL_BYTES = 16_000
"""The most bytes of one call's arguments; larger data belongs in a store of the user, and its key in the call."""


class ScheduledCall(NamedTuple):
    """The call of an occurrence: *task* on *queue* with *data* (arguments as JSON text); it must begin within *expires* seconds of its
    moment.

    *moment* is the name of the parameter that receives the moment; the other fields are those of `sedano.model.tasks.signature.Options`.
    """

    task: str
    queue: str
    data: str = '{"args":[],"kwargs":{}}'
    expires: float | None = None
    ignore_result: bool = False
    tenant: str | None = None
    stamps: str | None = None
    moment: str | None = None


class Periodic(NamedTuple):
    """One periodic task. *declared*: the digest of its declaration in code; empty for one that was added at run time."""

    schedule: Schedule
    call: ScheduledCall
    state: State
    declared: str = ""


class Agenda(NamedTuple):
    """Agenda *number* (0 to 15): its periodic tasks by name, and the *nonce* of its last change (empty: never written).

    *held*: until when (epoch s) the controller that wrote it last publishes from it alone; 0 if no controller does.
    """

    number: int
    periodics: Mapping[str, Periodic] = NOTHING
    nonce: str = ""
    held: int = 0

    @property
    def is_pending(self) -> bool:
        """Return whether some of its moments were decided and not published yet."""
        return any(one.state.pending for one in self.periodics.values())


class AgendaChanged(NamedTuple):
    """The answer to a change: *done* with the new agenda, or refused with the current one."""

    done: bool
    agenda: Agenda


def agenda_of(name: str) -> int:
    """Return the number of the agenda of the schedule *name*."""
    return crc32(name.encode("utf-8", "surrogatepass")) % AGENDAS


def is_held(agenda: Agenda, now: float) -> bool:
    """Return whether another controller has claimed *agenda* and may still be publishing from it.

    A time that is further ahead than a claim lasts, plus the allowed difference of clocks, was set by a wrong clock and is ignored.
    """
    return agenda.is_pending and now < agenda.held <= now + 2 * HOLD_S


def claimed(agenda: Agenda, now: float) -> Agenda:
    """Return *agenda* with the claim of its writer: the time until which other controllers leave the pending moments to the writer."""
    return agenda._replace(held=int(now) + HOLD_S) if agenda.is_pending else agenda


def declaration(schedule: Schedule, call: ScheduledCall) -> Periodic:
    """Return the periodic task that code declares, with the digest that identifies its declaration; its state begins when a controller
    first sees it.
    """
    bare = Periodic(schedule, call, State(0))
    return bare._replace(declared=hashlib.sha256(json.dumps(_plain(bare)).encode()).hexdigest()[:16])


def reconciled(agenda: Agenda, declared: Mapping[str, Periodic], now: float) -> Agenda:
    """Return *agenda* with the periodic tasks that code declares (*declared* has those of all agendas), and without those that it no longer
    declares.

    A changed declaration is an edit; it remains paused if an operator paused it.
    """
    mine = {name: one for name, one in declared.items() if agenda_of(name) == agenda.number}
    kept = {name: found for name, found in agenda.periodics.items() if not found.declared or name in mine}
    for name, one in mine.items():
        found = kept.get(name)
        if found is None or found.declared != one.declared:
            kept[name] = begun(one, now) if found is None else _redeclared(found, one, now)
    return agenda if kept == agenda.periodics else agenda._replace(periodics=kept)


def begun(periodic: Periodic, now: float) -> Periodic:
    """Return *periodic* with the state of its beginning: its first moment is after *now*."""
    return periodic._replace(state=State(int(now)))


def changed(found: Periodic, schedule: Schedule, call: ScheduledCall, now: float) -> Periodic:
    """Return *found* with another *schedule* or *call*, from *now* on."""
    return found._replace(schedule=schedule, call=call, state=edited(found.state, found.schedule, schedule, now))


def with_periodic(agenda: Agenda, name: str, periodic: Periodic | None) -> Agenda:
    """Return *agenda* with *periodic* under *name*; None removes it."""
    rest = {other: found for other, found in agenda.periodics.items() if other != name}
    return agenda._replace(periodics=rest if periodic is None else {**rest, name: periodic})


def _redeclared(found: Periodic, one: Periodic, now: float) -> Periodic:
    schedule = one.schedule._replace(paused=found.schedule.paused)
    return changed(found, schedule, one.call, now)._replace(declared=one.declared)


def write_agenda(agenda: Agenda) -> str:
    """Return the periodic tasks of *agenda* as one JSON text.

    Raises:
        TooLarge: the text is larger than an item may be.
    """
    text = json.dumps({name: _plain(found) for name, found in sorted(agenda.periodics.items())}, separators=(",", ":"))
    if len(text) > MOST_BYTES:
        raise TooLarge(f"schedules: {len(text)} bytes of {MOST_BYTES} in one of {AGENDAS} agendas; remove some, or give shorter arguments")
    return text


def read_agenda(number: int, text: str, nonce: str, held: int = 0) -> Agenda:
    """Return the agenda that `write_agenda` wrote.

    Raises:
        MessageRefused: *text* is not a valid agenda; the error names the field.
    """
    return Agenda(number, {name: _periodic(name, one) for name, one in _mapping(number, text).items()}, nonce, held)


def write_definitions(agenda: Agenda) -> str:
    """Return the periodic tasks of *agenda* without their states as one JSON text: the same for the same definitions."""
    plain = {name: {part: value for part, value in _plain(one).items() if part != "state"} for name, one in agenda.periodics.items()}
    return json.dumps(plain, separators=(",", ":"), sort_keys=True)


def read_definitions(number: int, text: str) -> dict[str, Periodic]:
    """Return the periodic tasks that `write_definitions` wrote, each with a state that has decided nothing.

    Raises:
        MessageRefused: *text* is not valid; the error names the field.
    """
    return {name: _periodic(name, one, _PARTS - {"state"}) for name, one in _mapping(number, text).items()}


def _mapping(number: int, text: str) -> dict[str, object]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as wrong:
        raise MessageRefused(refusals.MALFORMED, f"agenda {number}", str(wrong)) from None
    if not isinstance(found, dict):
        raise _wrong(f"agenda {number}", "a mapping", found)
    return found


def agenda_or_refusal(number: int, text: str, nonce: str, held: int = 0) -> Agenda | MessageRefused:
    """Return the agenda that `write_agenda` wrote, or the error: an agenda that cannot be read must not stop the work on the others."""
    try:
        return read_agenda(number, text, nonce, held)
    except MessageRefused as refused:
        return refused.as_answer()


def _plain(periodic: Periodic) -> dict[str, object]:
    schedule = periodic.schedule
    options = {field: value for field, value in schedule._asdict().items() if field not in ("name", "timetable")}
    return {
        "timetable": written(schedule.timetable), "options": options, "call": periodic.call._asdict(), "state": periodic.state._asdict(),
        "declared": periodic.declared,
    }  # fmt: skip


_TEXT, _WHOLE, _FLAG, _MOMENT = "a string", "a whole number", "true or false", "a moment in whole epoch seconds"
_SECONDS, _MOMENTS = "a number of seconds above 0", f"a list of at most {MOST_MOMENTS} moments in whole epoch seconds"
_DATA = "arguments as JSON in ASCII"
_NAME, _QUEUE = "a name of 1 to 256 characters without spaces", "the name of a queue"
_TENANT, _STAMPS = "1 to 128 visible ASCII characters", "stamps, name=value,name=value"
_OPTIONAL = " or null"
_OPTIONS = {
    "jitter": _WHOLE, "misfire_grace": _WHOLE + _OPTIONAL, "coalesce": _FLAG, "paused": _FLAG, "max_instances": _WHOLE + _OPTIONAL,
}  # fmt: skip
_CALL = {
    "task": _NAME, "queue": _QUEUE, "data": _DATA, "expires": _SECONDS + _OPTIONAL, "ignore_result": _FLAG, "tenant": _TENANT + _OPTIONAL,
    "stamps": _STAMPS + _OPTIONAL, "moment": _TEXT + _OPTIONAL,
}  # fmt: skip
_STATE = {"cursor": _MOMENT, "pending": _MOMENTS, "missed": _WHOLE, "running": _MOMENTS}
_PARTS = frozenset({"timetable", "options", "call", "state", "declared"})


def _periodic(name: str, found: object, parts: frozenset[str] = _PARTS) -> Periodic:
    where = f"schedule {name!r}"
    if not isinstance(found, dict) or set(found) != parts or not isinstance(found["declared"], str):
        raise _wrong(where, f"a mapping of {', '.join(sorted(parts))}", found)
    timetable = found["timetable"]
    if not (isinstance(timetable, list) and len(timetable) == 2 and isinstance(timetable[0], str) and isinstance(timetable[1], list)):
        raise _wrong(f"{where}: timetable", "a kind and a list", timetable)
    options, call, state = (_fields(f"{where}: {part}", found.get(part, _BEGINNING), kinds) for part, kinds in _KINDS)
    try:
        schedule = Schedule(name, read_timetable(timetable[0], timetable[1]), **options).checked()
    except OptionError as wrong:
        raise MessageRefused(refusals.SCHEMA, where, str(wrong)) from None
    return Periodic(schedule, ScheduledCall(**call), State(**state), found["declared"])


_BEGINNING = {"cursor": 0, "pending": [], "missed": 0, "running": []}
"""The state of a periodic task that is stored without one."""
_KINDS = (("options", _OPTIONS), ("call", _CALL), ("state", _STATE))


def _fields(where: str, found: object, kinds: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of *found*, each checked for its kind in *kinds*, with lists as tuples."""
    if not isinstance(found, dict) or found.keys() != kinds.keys():
        raise _wrong(where, f"a mapping of {', '.join(kinds)}", found)
    for name, kind in kinds.items():
        if not _is(found[name], kind):
            raise _wrong(f"{where}.{name}", kind, found[name])
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


def _is(value: object, kind: str) -> bool:
    if kind.endswith(_OPTIONAL):
        return value is None or _is(value, kind.removesuffix(_OPTIONAL))
    return bool(_ARE[kind](value))


def _is_moment(value: object) -> bool:
    return type(value) is int and 0 <= value <= LAST_SECOND


_ARE: Mapping[str, Callable[[Any], object]] = {
    _TEXT: lambda value: type(value) is str, _WHOLE: lambda value: type(value) is int, _FLAG: lambda value: type(value) is bool,
    _MOMENT: _is_moment, _SECONDS: lambda value: type(value) in (int, float) and 0 < value <= LAST_SECOND,
    _MOMENTS: lambda value: type(value) is list and len(value) <= MOST_MOMENTS and all(map(_is_moment, value)),
    _DATA: lambda value: type(value) is str and value.isascii(), _NAME: lambda value: type(value) is str and is_name(value),
    _QUEUE: lambda value: type(value) is str and is_name(value), _TENANT: lambda value: type(value) is str and is_tenant(value),
    _STAMPS: lambda value: type(value) is str and stamps.is_written(value),
}  # fmt: skip


def _wrong(where: str, wanted: str, found: object) -> MessageRefused:
    return MessageRefused(refusals.SCHEMA, where, f"expected {wanted}, got {str(found)[:80]!r}")
