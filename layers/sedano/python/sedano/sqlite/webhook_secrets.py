"""The secrets of webhooks in the table `secret`. Only the file's owner can read it (`sedano.sqlite.store`)."""

from __future__ import annotations

from sedano.errors import ConfigurationError
from sedano.ports.webhook_secrets import lines_of
from sedano.sqlite.store import Store

PUT = "INSERT INTO secret VALUES (?, ?) ON CONFLICT DO UPDATE SET body = excluded.body"
_READ = "SELECT body FROM secret WHERE webhook = ?"


class SqliteSecretTexts:
    """The secrets of one deployment over one SQLite file."""

    def __init__(self, store: Store) -> None:
        """Use *store*; nothing is opened yet."""
        self._store = store

    def put(self, webhook: str, text: str) -> None:
        """Store *text*, one secret a line: the secrets with which senders of *webhook* sign."""
        with self._store.changing() as database:
            database.execute(PUT, (webhook, text))

    def read(self, webhook: str) -> tuple[str, ...]:
        """Return the secrets that are valid for *webhook* now."""
        found = lines_of("".join(body for (body,) in self._store.rows(_READ, webhook)))
        if not found:
            raise ConfigurationError(f"webhook {webhook}: {self._store.path} has no secret; store it with `SqliteSecretTexts.put`")
        return found
