"""The effects that a running task collects for the transaction of its record: checked at the call, and not sent before the body returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sedano.errors import OptionError, SedanoError, TooLarge
from sedano.model.effects import ABSENT, MOST, MOST_BYTES, Condition, Row, TableWrite, checked, place, size


class TableWrites:
    """The effects of one run. They are written together with the record of its success, in one transaction, or not at all."""

    __slots__ = ("_bytes", "_places", "_tables", "writes")
    ABSENT = ABSENT
    """The condition that the item, or an attribute, does not exist."""

    def __init__(self, tables: Mapping[str, tuple[str, ...]]) -> None:
        """Write to *tables*: the names of the key's attributes, by the table's name."""
        self._tables, self._bytes = tables, 0
        self._places: set[tuple[str, str]] = set()
        self.writes: list[TableWrite] = []

    def put(self, table: str, item: Row, *, condition: Condition = None) -> None:
        """Write the whole *item*, in place of the one with its key; *condition*: see `update`.

        Raises:
            OptionError: the table is not declared, or a value, the key or the place is not valid; the message says what to write.
            TooLarge: the item has more than 400 KB, or all effects together are too large for one transaction.
        """
        key = {name: item[name] for name in self._names(table) if name in item}
        self._add(TableWrite(table, "put", key, item=dict(item), condition=condition))

    def update(
        self, table: str, key: Row, *, set: Row | None = None, add: Mapping[str, int] | None = None, remove: Sequence[str] = (),  # noqa: A002
        condition: Condition = None,
    ) -> None:  # fmt: skip
        """Change the item at *key*, which is created if it does not exist. Raises the same errors as `put`.

        Args:
            table: the name of a table that the app declares (`app.table`).
            key: the attributes of its key.
            set: attributes and their new values.
            add: whole numbers to add to attributes; one that does not exist counts as 0.
            remove: names of attributes to remove.
            condition: attributes and the values that they must have before, or `ABSENT` for one that must not exist; `ABSENT` itself: the
                item must not exist.
        """
        self._names(table)
        self._add(
            TableWrite(
                table=table, kind="update", key=dict(key), sets=dict(set or {}), adds=dict(add or {}), removes=tuple(remove),
                condition=condition,
            )
        )  # fmt: skip

    def delete(self, table: str, key: Row, *, condition: Condition = None) -> None:
        """Delete the item at *key*, if it exists; *condition*: see `update`. Raises the same errors as `put`."""
        self._names(table)
        self._add(TableWrite(table, "delete", dict(key), condition=condition))

    def _names(self, table: str) -> tuple[str, ...]:
        if table not in self._tables:
            known = ", ".join(sorted(self._tables)) or "none"
            raise OptionError(f"effects: {table!r} is not a declared table ({known}); declare it: app.table({table!r}, key=…)")
        return self._tables[table]

    def _add(self, effect: TableWrite) -> None:
        checked(effect, self._tables[effect.table])
        where = place(effect)
        if where in self._places:
            raise OptionError(f"effects.{effect.kind}({effect.table!r}): this run already writes {where[1]}; combine the two writes")
        if len(self.writes) == MOST:
            raise OptionError(f"effects: a run may have at most {MOST}; move the others to another task")
        if self._bytes + size(effect) > MOST_BYTES:
            raise TooLarge(f"effects: {self._bytes + size(effect)} bytes; a run may have at most {MOST_BYTES}")
        self._places.add(where)
        self._bytes += size(effect)
        self.writes.append(effect)


def collecting(tables: Mapping[str, tuple[str, ...]], recorded: bool) -> TableWrites:
    """Return the collector of a run's effects; *recorded*: its success leaves a record.

    Raises:
        SedanoError: it leaves no record, so effects would be repeated with each delivery.
    """
    if not recorded:
        raise SedanoError(
            'effects: a task with delivery="at_least_once" and ignore_result leaves no record with which to write them; declare it with '
            'delivery="claimed" or "record_once"'
        )
    return TableWrites(tables)
