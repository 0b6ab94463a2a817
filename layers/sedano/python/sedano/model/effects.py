"""Effects: writes to a user's own tables that happen with the recorded success of a task, or not at all.

The rule is small, so that DynamoDB, one SQLite file and memory implement it identically: a condition compares attributes with values, or
requires that the item is absent; an update sets, adds to and removes attributes. Values are strings, whole numbers, booleans, None, lists
and dicts with string keys, because a table keeps these exactly.

Invariants: an effect is applied if and only if its run ended its task as SUCCESS; all effects of a run are applied, or none; a run does not
write an item twice, because a transaction cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from sedano.errors import OptionError, TooLarge
from sedano.model.canonical_json import canonical_json

MOST = 99
"""The most effects of one run: a transaction has a hundred items, and the task's record is one."""
ITEM_BYTES = 400 * 1024
MOST_BYTES = 4 * 1024 * 1024 - ITEM_BYTES
"""The most bytes of all effects of one run: a transaction has 4 MB, minus room for the task's record."""
LONGEST_NUMBER = 38
"""The most digits of a number in DynamoDB."""

NOTHING: Mapping[str, Any] = MappingProxyType({})
Kind = Literal["put", "update", "delete"]
Row = Mapping[str, Any]


class Absence(Enum):
    """The type of ABSENT."""

    ABSENT = "absent"


ABSENT = Absence.ABSENT
"""As a condition: the item does not exist. As the value of an attribute in a condition: the item has no such attribute."""

Condition = Mapping[str, Any] | Absence | None


class TableWrite(NamedTuple):
    """One write: to the item at *key* of the declared *table*.

    A put has the whole *item*; an update *sets*, *adds* to and *removes* attributes; *condition*: the condition on the item before it.
    """

    table: str
    kind: Kind
    key: Row
    item: Row = NOTHING
    sets: Row = NOTHING
    adds: Mapping[str, int] = NOTHING
    removes: tuple[str, ...] = ()
    condition: Condition = None


def refusal(effect: TableWrite, found: Row | None) -> str:
    """Return why *effect* cannot be applied to the item *found* (None: no item); empty if it can."""
    condition = effect.condition
    if condition is ABSENT:
        return "" if found is None else "the item exists"
    item = found if found is not None else NOTHING
    for name, wanted in condition.items() if condition is not None else ():
        if wanted is ABSENT:
            if name in item:
                return f"{name} is not absent"
        elif name not in item or canonical_json(item[name]) != canonical_json(wanted):
            return f"{name} does not have the value of the condition"
    for name in effect.adds:
        if name in item and not _is_whole(item[name]):
            return f"add: {name} is not a number"
    return ""


def applied(effect: TableWrite, found: Row | None) -> Row | None:
    """Return the item after *effect* was applied to *found*; None: no item."""
    if effect.kind == "delete":
        return None
    if effect.kind == "put":
        return dict(effect.item)
    row = dict(found) if found is not None else dict(effect.key)
    row.update(effect.sets)
    for name, more in effect.adds.items():
        row[name] = row.get(name, 0) + more
    for name in effect.removes:
        row.pop(name, None)
    return row


def checked(effect: TableWrite, names: tuple[str, ...]) -> TableWrite:
    """Return *effect* if it can be written to a table whose key has these *names*.

    Raises:
        OptionError: its key, a value or an attribute is not valid; the message names it.
        TooLarge: the item has more than 400 KB.
    """
    where = f"effects.{effect.kind}({effect.table!r})"
    _check_key(effect, names, where)
    _check_changes(effect, where)
    condition = effect.condition if isinstance(effect.condition, Mapping) else {}
    wanted = {name: value for name, value in condition.items() if value is not ABSENT}
    for part in (effect.key, effect.item, effect.sets, effect.adds, wanted, dict.fromkeys([*effect.removes, *condition])):
        _check(part, where)
    if size(effect) > ITEM_BYTES:
        raise TooLarge(f"{where}: {size(effect)} bytes; an item may have {ITEM_BYTES}")
    return effect


def size(effect: TableWrite) -> int:
    """Return the approximate size of *effect* in a transaction, in bytes; never less than that of its values."""
    condition = effect.condition if isinstance(effect.condition, Mapping) else {}
    wanted = {name: None if value is ABSENT else value for name, value in condition.items()}
    parts = [effect.key, effect.item, effect.sets, effect.adds, wanted]
    return len(canonical_json([*map(dict, parts), *effect.removes]).encode())


def place(effect: TableWrite) -> tuple[str, str]:
    """Return the item that *effect* writes: the table, and the key as text."""
    return effect.table, canonical_json(effect.key)


def _check_key(effect: TableWrite, names: tuple[str, ...], where: str) -> None:
    if set(effect.key) != set(names):
        raise OptionError(f"{where}: the key is {', '.join(names)}; give exactly these, not {', '.join(map(str, effect.key))}")
    for name, value in effect.key.items():
        if not (_is_whole(value) or (isinstance(value, str) and value)):
            raise OptionError(f"{where}: the key {name} must be a non-empty string or a whole number")


def _check_changes(effect: TableWrite, where: str) -> None:
    changed = [*effect.sets, *effect.adds, *effect.removes]
    if effect.kind == "update" and not changed:
        raise OptionError(f"{where}: it does not change anything; give set=, add= or remove=")
    for name in changed:
        if name in effect.key or changed.count(name) > 1:
            raise OptionError(f"{where}: {name} is in the key, or in two of set=, add= and remove=; name it once")
    for name, value in effect.adds.items():
        if not _is_whole(value):
            raise OptionError(f"{where}: add: {name} must be a whole number")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check(value: Any, where: str) -> None:
    if isinstance(value, Mapping):
        for name, one in value.items():
            if not isinstance(name, str) or not name:
                raise OptionError(f"{where}: {name!r} is not the name of an attribute; use a non-empty string")
            _check(name, where)
            _check(one, where)
    elif isinstance(value, list):
        for one in value:
            _check(one, where)
    elif wrong := _wrong_with(value):
        raise OptionError(f"{where}: {wrong}")


def _wrong_with(value: object) -> str:
    """Return why a table does not keep the plain *value* exactly; empty if it does."""
    if isinstance(value, str):
        half = any("\ud800" <= letter <= "\udfff" for letter in value)
        return "a string has half of a surrogate pair, which a table cannot keep" if half else ""
    if isinstance(value, int):
        return f"a number has more than {LONGEST_NUMBER} digits; write it as a string" if abs(value) >= 10**LONGEST_NUMBER else ""
    if value is None:
        return ""
    return f"{type(value).__name__} is not kept exactly; use strings, whole numbers, booleans, None, lists and dicts"
