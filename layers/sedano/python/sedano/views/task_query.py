"""A search for tasks, written as text: ``state:FAILURE name:shop.* error:ValueError``.

Each part narrows the search. A part without a field is looked for in the id and in the name. `*` and `?` match any text and any
character; a name also matches by its last part, an error by its beginning, a state in any case, and a deduplication key as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from sedano.errors import OptionError
from sedano.model.history.registers import Timeline
from sedano.model.messages import stamps
from sedano.model.messages.lineage import dedup_id, is_text

MOST_PARTS = 20
MOST_CHARACTERS = 1_000
ANY = "any"
"""The field of a part that does not name one."""
KEY = "key"
"""The field of a deduplication key. A key is matched as a whole, because the id of a keyed task is a digest of its name and its key."""


class Criterion(NamedTuple):
    """One condition: the *field*, and the *pattern* that its value must match."""

    field: str
    pattern: str


class TaskQuery(NamedTuple):
    """All conditions of a search; a task must match each."""

    parts: tuple[Criterion, ...] = ()

    def is_met(self, task: Timeline) -> bool:
        """Return whether *task* matches every part."""
        return all(_FIELDS[part.field](task, part.pattern) for part in self.parts)

    def ids(self, names: Iterable[str]) -> dict[str, str]:
        """Return the ids of the tasks called *names* under the key of this search, each with its name; none if no key is searched.

        Only names that match the conditions on the name.
        """
        keys, wanted = ([part.pattern for part in self.parts if part.field == field] for field in (KEY, "name"))
        named = [name for name in names if is_text(name) and all(_is_called(name, pattern) for pattern in wanted)]
        return {dedup_id(name, key): name for name in named for key in keys}


def parse(text: str) -> TaskQuery:
    """Return the search that *text* describes; an empty text matches every task.

    Raises:
        OptionError: a field is unknown, a key is a pattern or not text, or the search is too long.
    """
    words = text.split()
    if len(text) > MOST_CHARACTERS or len(words) > MOST_PARTS:
        raise OptionError(f"query: at most {MOST_PARTS} parts and {MOST_CHARACTERS} characters; narrow it with fewer parts")
    return TaskQuery(tuple(map(_part, words)))


def is_literal(text: str) -> bool:
    """Return whether *text* as a pattern matches only itself, and is one part of a search."""
    return bool(text) and not any(one.isspace() or one in "*?[" for one in text)


def _part(word: str) -> Criterion:
    field, colon, pattern = word.partition(":")
    if not colon:
        return Criterion(ANY, word)
    if field not in _FIELDS or field == ANY or not pattern:
        known = ", ".join(f"{one}:" for one in _FIELDS if one != ANY)
        raise OptionError(f"query: {word[:60]!r} is not a condition; write one of {known} followed by a value, such as state:FAILURE")
    if field == KEY and not is_literal(pattern):
        raise OptionError(
            f"query: {word[:60]!r}: a key is found as a whole, not by a pattern, because only its digest is kept; "
            "search a key that has *, ? or [ by the id of its task"
        )
    if field == KEY and not is_text(pattern):
        raise OptionError(f"query: {word[:60]!a}: this key has half a surrogate pair, which is not text; write the key as it was published")
    return Criterion(field, pattern)


def _id(task: Timeline, pattern: str) -> bool:
    return fnmatchcase(task.uuid, pattern)


def _state(task: Timeline, pattern: str) -> bool:
    return fnmatchcase(task.state, pattern.upper())


def _name(task: Timeline, pattern: str) -> bool:
    return _is_called(str(task.fields["name"] or "?"), pattern)


def _is_called(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) or fnmatchcase(name.rpartition(".")[2], pattern)


def _error(task: Timeline, pattern: str) -> bool:
    return task.fields["exception"] is not None and fnmatchcase(str(task.fields["exception"]), f"{pattern}*")


def _queue(task: Timeline, pattern: str) -> bool:
    return fnmatchcase(str(task.fields["queue"] or "").removeprefix("commands:"), pattern)


def _worker(task: Timeline, pattern: str) -> bool:
    return fnmatchcase(task.worker or "", pattern)


def _field(name: str) -> Callable[[Timeline, str], bool]:
    return lambda task, pattern: fnmatchcase(str(task.fields[name] or ""), pattern)


def _tag(task: Timeline, pattern: str) -> bool:
    name, _, value = pattern.partition("=")
    found = stamps.from_event(task.fields["stamps"])
    if not found:
        return False
    return any(fnmatchcase(one, name) and fnmatchcase(text, value or "*") for one, text in found.items())


def _tenant(task: Timeline, pattern: str) -> bool:
    return fnmatchcase(stamps.from_event(task.fields["stamps"]).get(stamps.TENANT, ""), pattern)


def _key(task: Timeline, key: str) -> bool:
    name = str(task.fields["name"] or "")
    return is_text(name) and task.uuid == dedup_id(name, key)


def _any(task: Timeline, pattern: str) -> bool:
    return _id(task, pattern) or _id(task, f"{pattern}*") or _name(task, f"*{pattern}*")


_FIELDS: Mapping[str, Callable[[Timeline, str], bool]] = {
    ANY: _any, "id": _id, "name": _name, "state": _state, "queue": _queue, "worker": _worker, "error": _error,
    "root": _field("root_id"), "parent": _field("parent_id"), "tag": _tag, "tenant": _tenant, KEY: _key,
}  # fmt: skip
