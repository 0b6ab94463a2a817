"""Rows that change by compare-and-swap on the nonce of their last change: CHANGE and CHANGE_ABSENT of `sedano.aws.expressions`.

`nc = :seen` is `WHERE nonce = ?`; `attribute_not_exists(pk)` is INSERT … ON CONFLICT DO NOTHING. The mark of the own-write rule is the
nonce, and a refusal answers with the row in the way, read in the same transaction.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sedano.sqlite.store import Store


class Swap(NamedTuple):
    """The three statements of such a table: each takes the row's values, then its key, and *change* also the nonce that was seen."""

    create: str
    change: str
    read: str


def swapped(store: Store, swap: Swap, key: Any, values: tuple[Any, ...], seen: str | None) -> tuple[Any, ...] | None:
    """Write *values* under *key* if its nonce is still *seen* (None: if there is no row); return the row in the way, if any.

    Returns:
        None if the values were written; else the row, empty if it no longer exists.
    """
    with store.changing() as database:
        if seen is None:
            done = database.execute(swap.create, (*values, key)).rowcount
        else:
            done = database.execute(swap.change, (*values, key, seen)).rowcount
        if done:
            return None
        rows = database.execute(swap.read, (key,)).fetchall()
        return tuple(rows[0]) if rows else ()
