"""The declaration of tables for effects, a mixin of the app."""

from __future__ import annotations

from collections.abc import Sequence

from sedano.engine.registry import Registry
from sedano.errors import OptionError

LONGEST_KEY = 2


class Tables:
    """The user's own tables to which the tasks of an app write in the transaction of their record."""

    registry: Registry

    def table(self, name: str, *, key: str | Sequence[str]) -> None:
        """Declare a table of DynamoDB, for ``current().effects`` of every task: `app.table("orders", key="order_id")`.

        *name* is only a key: the deployment maps it to the table's name or ARN (SEDANO_TABLES; the setting ``tables`` of the stack, which
        also grants it to the worker).

        Args:
            name: the name that tasks use.
            key: the attributes of the table's key: the partition key, then the sort key where it has one.

        Raises:
            OptionError: the name or the key cannot be honoured, or another table has the name.
            PortMissing: the app is connected to a deployment without effects.
        """
        names = (key,) if isinstance(key, str) else tuple(key)
        if not name:
            raise OptionError(f"table: {name!r} is not a name; give a string that is not empty")
        if not 1 <= len(names) <= LONGEST_KEY or not all(names) or len(set(names)) < len(names):
            raise OptionError(f"table {name!r}: key= is the name of the partition key, or a pair of it and the sort key; not {key!r}")
        if name in self.registry.tables:
            raise OptionError(f"table {name!r} is already declared; declare it once")
        self.registry.need("effects", f"the table {name!r}")
        self.registry.tables[name] = names
