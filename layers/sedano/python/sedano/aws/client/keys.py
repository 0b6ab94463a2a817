"""Keys of the tables: a kind, then percent-encoded parts, joined by `#`. Injective: different parts never give the same
key.

An encoded part holds no `#`, so parts cannot run into each other. A part whose encoding would pass DynamoDB's 2 048
bytes for a key is replaced by `=` and its SHA-256; no encoded part begins with `=`, so the two forms cannot collide.
"""

from __future__ import annotations

import re
from hashlib import sha256
from urllib.parse import quote

TASK, JOIN, MEMBER, LEASE = "TASK#", "JOIN#", "MEMBER#", "LEASE#"
ELECTION = "ELECT#"
FLOW_RUN = "FLOW#"
MEMO = "MEMO#"
AGENDA = "AGENDA#"
ROLLUP = "ROLLUP#"
RATE, PERMITS, LATEST, BASKET = "RATE#", "PERMITS#", "LATEST#", "BASKET#"
CONTROL = "CONTROL"
"""The one key of the control record."""
LONGEST_PART = 600
_UNRESERVED = re.compile(r"[A-Za-z0-9_.~-]*").fullmatch
"""Ids and most names need no encoding; this check costs a tenth of encoding them."""


def part(text: str) -> str:
    """Return *text* as one part of a key."""
    encoded = text if _UNRESERVED(text) else quote(text, safe="", errors="surrogatepass")
    return encoded if len(encoded) <= LONGEST_PART else "=" + sha256(encoded.encode()).hexdigest()


def task(task_id: str) -> str:
    """Return the key of a task's record."""
    return TASK + part(task_id)


def join(join_id: str) -> str:
    """Return the key of a join."""
    return JOIN + part(join_id)


def node(join_id: str, node_key: str) -> str:
    """Return the key of one node of a join."""
    return f"{JOIN}{part(join_id)}#{part(node_key)}"


def member(name: str) -> str:
    """Return the key of a member."""
    return MEMBER + part(name)


def lease(name: str) -> str:
    """Return the key of a lease."""
    return LEASE + part(name)


def election(election_id: str) -> str:
    """Return the key of an election."""
    return ELECTION + part(election_id)


def memo(name: str) -> str:
    """Return the key of a memo."""
    return MEMO + part(name)


def flow_run(run_id: str) -> str:
    """Return the key of a workflow's run."""
    return FLOW_RUN + part(run_id)


def rollup(name: str) -> str:
    """Return the key of the roll-up of an object of the history."""
    return ROLLUP + part(name)


def agenda(number: int) -> str:
    """Return the key of an agenda of periodic tasks."""
    return f"{AGENDA}{number}"


def definitions(number: int) -> str:
    """Return the key of the definitions of an agenda's periodic tasks."""
    return f"{AGENDA}{number}#definitions"


def rate(name: str) -> str:
    """Return the key of a line of tickets."""
    return RATE + part(name)


def permits(name: str, board: int = 0) -> str:
    """Return the key of a *board* of a limit's permits."""
    return f"{PERMITS}{part(name)}#{board}" if board else PERMITS + part(name)


def permit_line(name: str) -> str:
    """Return the key of the line of messages that wait for a permit of a limit with several boards."""
    return f"{PERMITS}{part(name)}#line"


def latest(name: str) -> str:
    """Return the key of the latest call of a quiet period."""
    return LATEST + part(name)


def basket(name: str) -> str:
    """Return the key of a basket."""
    return BASKET + part(name)
