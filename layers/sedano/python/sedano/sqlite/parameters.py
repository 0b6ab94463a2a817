"""Parameters and profiles in the table `memo`, under names that no memo has."""

from __future__ import annotations

from collections.abc import Mapping

from sedano.errors import ConfigurationError
from sedano.sqlite.store import Store

_KIND = "parameter:"
_PUT = "INSERT INTO memo (name, nonce, body) VALUES (?, '', ?) ON CONFLICT DO UPDATE SET body = excluded.body"
_BELOW = "SELECT name, body FROM memo WHERE substr(name, 1, ?) = ?"
_READ = "SELECT body FROM memo WHERE name = ?"


class SqliteParameters:
    """The parameters and profiles of one deployment over one SQLite file."""

    def __init__(self, store: Store) -> None:
        """Use *store*; nothing is opened yet."""
        self._store = store

    def put(self, name: str, text: str) -> None:
        """Keep *text* under *name*: a parameter's (`/shop/pool`), or `application/environment/profile`."""
        with self._store.changing() as database:
            database.execute(_PUT, (_KIND + name, text))

    def tree(self, path: str) -> Mapping[str, str]:
        """Return all parameters below *path*, by their names without it."""
        prefix = f"{_KIND}{path.rstrip('/')}/"
        return {name[len(prefix) :]: text for name, text in self._store.rows(_BELOW, len(prefix), prefix)}

    def text(self, name: str) -> str:
        """Return the text of the parameter *name*; "" if it does not exist."""
        return next((str(text) for (text,) in self._store.rows(_READ, _KIND + name)), "")

    def profile(self, application: str, environment: str, profile: str) -> str:
        """Return the text of a profile."""
        name = f"{application}/{environment}/{profile}"
        for (text,) in self._store.rows(_READ, _KIND + name):
            return str(text)
        raise ConfigurationError(f"appconfig:{name}: {self._store.path} has no such profile; store its text with `SqliteParameters.put`")
