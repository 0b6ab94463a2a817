"""The tables of the file. Times of queues are epoch seconds, `ttl` is whole epoch seconds, other times are whole epoch milliseconds unless
the column's subject has its own unit (`sedano.ports.limits`). A logical clock that no statement compares is text: it may have 64 bits and
more.

The layout has a number (`VERSION`, the file's `user_version`). A file of an earlier layout is changed into this one (`CHANGES`) when it is
opened; a file of a newer one is refused, not read.
"""

from __future__ import annotations

OURS = 0x5EDA0502
"""The file's `application_id`."""
VERSION = 9
OLDEST_SQLITE = (3, 38, 0)
"""The oldest SQLite that always has RETURNING (3.35), STRICT tables (3.37) and the functions of JSON (3.38)."""

TABLES = """
CREATE TABLE task (id TEXT PRIMARY KEY, state TEXT NOT NULL, attempt INTEGER NOT NULL, fence INTEGER NOT NULL DEFAULT 0,
    claims INTEGER NOT NULL DEFAULT 0, nonce TEXT NOT NULL DEFAULT '', message TEXT NOT NULL DEFAULT '',
    expires INTEGER NOT NULL DEFAULT 0, clock TEXT NOT NULL DEFAULT '0', name TEXT NOT NULL DEFAULT '', owner TEXT NOT NULL DEFAULT '',
    asked INTEGER NOT NULL DEFAULT 0, reserved INTEGER NOT NULL DEFAULT 0, forgotten INTEGER NOT NULL DEFAULT 0, ttl INTEGER NOT NULL,
    result TEXT NOT NULL DEFAULT '', tail TEXT NOT NULL DEFAULT '', failed_day TEXT NOT NULL DEFAULT '',
    failed INTEGER NOT NULL DEFAULT 0, error TEXT NOT NULL DEFAULT '', place TEXT NOT NULL DEFAULT '',
    custom TEXT NOT NULL DEFAULT '', followed INTEGER NOT NULL DEFAULT 0, marks TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX task_failed ON task (failed_day, failed) WHERE failed_day <> '';
CREATE TABLE chord (id TEXT PRIMARY KEY, size INTEGER NOT NULL, body TEXT NOT NULL, queue TEXT NOT NULL, digest TEXT NOT NULL,
    bytes INTEGER NOT NULL, ttl INTEGER NOT NULL) STRICT;
CREATE TABLE arrival (chord TEXT NOT NULL, node TEXT NOT NULL, child INTEGER NOT NULL, failed INTEGER NOT NULL, ttl INTEGER NOT NULL,
    PRIMARY KEY (chord, node, child)) STRICT, WITHOUT ROWID;
CREATE TABLE message (seq INTEGER PRIMARY KEY AUTOINCREMENT, queue TEXT NOT NULL, visible REAL NOT NULL, received REAL NOT NULL DEFAULT 0,
    receives INTEGER NOT NULL DEFAULT 0, sent REAL NOT NULL, serial_key TEXT, tenant TEXT, attributes TEXT NOT NULL,
    body TEXT NOT NULL) STRICT;
CREATE INDEX message_next ON message (queue, visible);
CREATE INDEX message_order ON message (queue, seq) WHERE serial_key IS NOT NULL;
CREATE TABLE dead_letter (seq INTEGER PRIMARY KEY, queue TEXT NOT NULL, receives INTEGER NOT NULL, sent REAL NOT NULL, serial_key TEXT,
    tenant TEXT, attributes TEXT NOT NULL, body TEXT NOT NULL) STRICT;
CREATE INDEX dead_letter_queue ON dead_letter (queue, seq);
CREATE TABLE taken (queue TEXT NOT NULL, serial_key TEXT NOT NULL, digest TEXT NOT NULL, until REAL NOT NULL,
    PRIMARY KEY (queue, serial_key, digest)) STRICT, WITHOUT ROWID;
CREATE INDEX taken_until ON taken (until);
CREATE TABLE timer (name TEXT PRIMARY KEY, at REAL NOT NULL, fires REAL NOT NULL, queue TEXT NOT NULL, body TEXT NOT NULL, tenant TEXT,
    seq INTEGER NOT NULL) STRICT;
CREATE INDEX timer_fires ON timer (fires);
CREATE TABLE blob (digest TEXT PRIMARY KEY, kept INTEGER NOT NULL, data BLOB NOT NULL) STRICT;
CREATE TABLE event (name TEXT PRIMARY KEY, lines BLOB NOT NULL) STRICT;
CREATE TABLE rollup (name TEXT PRIMARY KEY, minute INTEGER NOT NULL, body TEXT NOT NULL, ttl INTEGER NOT NULL) STRICT;
CREATE INDEX rollup_minute ON rollup (minute);
CREATE TABLE member (name TEXT PRIMARY KEY, clock INTEGER NOT NULL, state TEXT NOT NULL, in_flight INTEGER NOT NULL, seen INTEGER NOT NULL,
    tasks TEXT NOT NULL, ttl INTEGER NOT NULL, answers TEXT NOT NULL DEFAULT '', report TEXT NOT NULL DEFAULT '') STRICT;
CREATE TABLE control (id INTEGER PRIMARY KEY CHECK (id = 1), nonce TEXT NOT NULL, body TEXT NOT NULL) STRICT;
CREATE TABLE memo (name TEXT PRIMARY KEY, nonce TEXT NOT NULL, body TEXT NOT NULL) STRICT;
CREATE TABLE agenda (number INTEGER PRIMARY KEY, nonce TEXT NOT NULL, held INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
CREATE TABLE flow_run (id TEXT PRIMARY KEY, nonce TEXT NOT NULL, workflow TEXT NOT NULL, ttl INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
CREATE TABLE lease (name TEXT PRIMARY KEY, token INTEGER NOT NULL, nonce TEXT NOT NULL, owner TEXT NOT NULL, version INTEGER NOT NULL,
    held INTEGER NOT NULL, duration INTEGER NOT NULL, expires INTEGER NOT NULL, want TEXT NOT NULL DEFAULT '', ttl INTEGER) STRICT;
CREATE TABLE waiting (seq INTEGER PRIMARY KEY AUTOINCREMENT, place TEXT NOT NULL, message TEXT NOT NULL) STRICT;
CREATE INDEX waiting_place ON waiting (place, seq);
CREATE TABLE election (id TEXT PRIMARY KEY, topic TEXT NOT NULL, task TEXT NOT NULL, draft TEXT NOT NULL, nonce TEXT NOT NULL,
    state TEXT NOT NULL, need TEXT NOT NULL, version INTEGER NOT NULL, winner TEXT NOT NULL, closer TEXT NOT NULL, term INTEGER NOT NULL,
    until INTEGER NOT NULL, ttl INTEGER NOT NULL) STRICT;
CREATE TABLE candidate (election TEXT NOT NULL, name TEXT NOT NULL, clock TEXT NOT NULL,
    PRIMARY KEY (election, name)) STRICT, WITHOUT ROWID;
CREATE TABLE line (name TEXT PRIMARY KEY, base INTEGER NOT NULL, taken INTEGER NOT NULL, t0 INTEGER NOT NULL, t1 INTEGER NOT NULL,
    t2 INTEGER NOT NULL, nonce TEXT NOT NULL, ttl INTEGER NOT NULL) STRICT;
CREATE TABLE permit (board TEXT NOT NULL, number INTEGER NOT NULL, token INTEGER NOT NULL, nonce TEXT NOT NULL, owner TEXT NOT NULL,
    expires INTEGER NOT NULL, kept TEXT NOT NULL DEFAULT '', ttl INTEGER NOT NULL, PRIMARY KEY (board, number)) STRICT, WITHOUT ROWID;
CREATE TABLE latest (name TEXT PRIMARY KEY, clock INTEGER NOT NULL, task TEXT NOT NULL, ttl INTEGER NOT NULL) STRICT;
CREATE TABLE basket (name TEXT PRIMARY KEY, shut INTEGER NOT NULL, number INTEGER NOT NULL, bytes INTEGER NOT NULL,
    ttl INTEGER NOT NULL) STRICT;
CREATE TABLE basket_entry (seq INTEGER PRIMARY KEY AUTOINCREMENT, basket TEXT NOT NULL, entry TEXT NOT NULL) STRICT;
CREATE INDEX basket_entry_basket ON basket_entry (basket, seq);
CREATE TABLE archive (name TEXT PRIMARY KEY, mark TEXT NOT NULL, modified REAL NOT NULL, data BLOB NOT NULL) STRICT;
CREATE TABLE consumer (queue TEXT PRIMARY KEY, most INTEGER NOT NULL) STRICT;
CREATE TABLE keys (id INTEGER PRIMARY KEY CHECK (id = 1), body TEXT NOT NULL) STRICT;
CREATE TABLE secret (webhook TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
CREATE TABLE effect (name TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (name, key)) STRICT, WITHOUT ROWID;
CREATE TABLE document (seq INTEGER PRIMARY KEY AUTOINCREMENT, sink TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL) STRICT;
CREATE UNIQUE INDEX document_id ON document (sink, id);
"""

CHANGES = {
    1: """
ALTER TABLE task ADD COLUMN failed_day TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN failed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN error TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN place TEXT NOT NULL DEFAULT '';
CREATE INDEX task_failed ON task (failed_day, failed) WHERE failed_day <> '';
""",
    2: """
ALTER TABLE member ADD COLUMN answers TEXT NOT NULL DEFAULT '';
""",
    3: """
CREATE TABLE IF NOT EXISTS effect (name TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (name, key)) STRICT, WITHOUT ROWID;
""",  # the first effect created it, before the table was part of a layout
    4: """
CREATE TABLE rollup (name TEXT PRIMARY KEY, minute INTEGER NOT NULL, body TEXT NOT NULL, ttl INTEGER NOT NULL) STRICT;
CREATE INDEX rollup_minute ON rollup (minute);
""",
    5: """
ALTER TABLE member ADD COLUMN report TEXT NOT NULL DEFAULT '';
""",
    6: """
CREATE TABLE document (seq INTEGER PRIMARY KEY AUTOINCREMENT, sink TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL) STRICT;
CREATE UNIQUE INDEX document_id ON document (sink, id);
""",
    7: """
ALTER TABLE task ADD COLUMN custom TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN followed INTEGER NOT NULL DEFAULT 0;
""",
    8: """
ALTER TABLE task ADD COLUMN marks TEXT NOT NULL DEFAULT '';
""",
}
"""The statements that change a file of an earlier layout into the next one, by the number of the earlier layout."""
