"""The states of an agenda's periodic tasks as one short text, apart from their definitions. Pure.

An occurrence changes states and nothing else, and a write is charged by the size of its item. So a table keeps the definitions (timetable,
call, options) in one item, which is written only when they change, and the states in another, which is small: a hundred schedules at rest
are a few bytes.

    states = cursor [";" state]…
    state  = number ["C" cursor] ["M" missed] ["P" moments] ["R" moments]

All numbers are in base 36. The first cursor is that of most schedules; a schedule whose state is that cursor and nothing else has no entry.
An entry begins with the place of its schedule among the sorted names, so states have a meaning only beside their definitions. `C` is the
schedule's own cursor, `P` its pending moments, `R` its running ones: each is the number of seconds before the first cursor, and moments
have commas between them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from sedano.errors import MessageRefused
from sedano.model import refusals
from sedano.model.messages.timestamps import LAST_SECOND
from sedano.model.schedules.agenda import MOST_MOMENTS, Periodic
from sedano.model.schedules.schedule import State

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
MOST_MISSED = 36**12 - 1
"""The most missed moments that the text of a state has room for; a larger number is written as this one, and one below 0 as 0."""
_NUMBER = "-?[0-9a-z]{1,12}"
_MOMENTS = f"{_NUMBER}(?:,{_NUMBER})*"
_ENTRY = re.compile(f"([0-9a-z]{{1,6}})(?:C({_NUMBER}))?(?:M([0-9a-z]{{1,12}}))?(?:P({_MOMENTS}))?(?:R({_MOMENTS}))?")


def write_states(periodics: Mapping[str, Periodic]) -> str:
    """Return the states of *periodics* as one text."""
    states = [periodics[name].state for name in sorted(periodics)]
    cursors = Counter(state.cursor for state in states)
    common = max(cursors, key=lambda cursor: (cursors[cursor], cursor), default=0)
    entries = (f"{_written(place)}{found}" for place, state in enumerate(states) if (found := _entry(state, common)))
    return ";".join((_written(common), *entries))


def read_states(where: str, text: str, periodics: Mapping[str, Periodic]) -> dict[str, Periodic]:
    """Return *periodics* with the states that `write_states` wrote as *text*.

    Raises:
        MessageRefused: *text* is not valid, or belongs to other periodic tasks; *where* names the agenda.
    """
    first, *entries = text.split(";")
    if not re.fullmatch(_NUMBER, first):
        raise _wrong(where, first)
    common, names = int(first, 36), sorted(periodics)
    states = [State(common)] * len(names)
    for entry in entries:
        found = _ENTRY.fullmatch(entry)
        place = int(found[1], 36) if found else len(names)
        if found is None or place >= len(names):
            raise _wrong(where, entry)
        states[place] = _state(common, *found.groups()[1:])
    for name, state in zip(names, states, strict=True):
        if not _is_valid(state):
            raise _wrong(f"{where}: schedule {name!r}", str(state))
    return {name: periodics[name]._replace(state=state) for name, state in zip(names, states, strict=True)}


def _entry(state: State, common: int) -> str:
    """Return the text of *state* without its place; empty if it is the *common* cursor alone."""
    found = f"C{_written(common - state.cursor)}" if state.cursor != common else ""
    missed = min(max(0, state.missed), MOST_MISSED)
    found += f"M{_written(missed)}" if missed else ""
    for letter, moments in (("P", state.pending), ("R", state.running)):
        if moments:
            found += letter + ",".join(_written(common - moment) for moment in moments)
    return found


def _state(common: int, cursor: str | None, missed: str | None, pending: str | None, running: str | None) -> State:
    return State(
        common - int(cursor or "0", 36), tuple(_moments(common, pending)), int(missed or "0", 36), tuple(_moments(common, running))
    )


def _moments(common: int, text: str | None) -> Iterator[int]:
    return (common - int(one, 36) for one in text.split(",")) if text else iter(())


def _is_valid(state: State) -> bool:
    moments: Iterable[int] = (state.cursor, *state.pending, *state.running)
    return max(len(state.pending), len(state.running)) <= MOST_MOMENTS and all(0 <= moment <= LAST_SECOND for moment in moments)


def _written(number: int) -> str:
    """Return *number* in base 36, as `int` reads it."""
    digits, rest = "", abs(number)
    while rest or not digits:
        rest, digit = divmod(rest, 36)
        digits = _DIGITS[digit] + digits
    return f"-{digits}" if number < 0 else digits


def _wrong(where: str, found: str) -> MessageRefused:
    return MessageRefused(refusals.SCHEMA, where, f"expected the states of its schedules, got {found[:80]!r}")
