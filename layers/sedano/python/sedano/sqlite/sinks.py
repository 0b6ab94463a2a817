"""Sinks over one file: the documents are rows of the table `document`, where a project can look at them while it is developed."""

from __future__ import annotations

import json
from typing import Any

from sedano.model.canonical_json import canonical_json
from sedano.model.sinks.content import Content
from sedano.sqlite.store import Store

WRITE = "INSERT INTO document (sink, id, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_READ = "SELECT body FROM document WHERE sink = ? ORDER BY seq"


class SqliteSinks:
    """The sinks of an app in one SQLite file; each exists as soon as it is written to."""

    def __init__(self, store: Store) -> None:
        """Use *store*; nothing is opened yet."""
        self._store = store

    def write(self, sink: str, content: Content) -> bool:
        """Keep *content* in *sink*, unless it has a document of this id."""
        with self._store.changing() as database:
            return database.execute(WRITE, (sink, content["id"], canonical_json(content))).rowcount == 1

    def documents(self, sink: str) -> list[dict[str, Any]]:
        """Return the documents of *sink*, in the order in which they were written."""
        return [json.loads(body) for (body,) in self._store.rows(_READ, sink)]
