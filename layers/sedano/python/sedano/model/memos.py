"""Memos: small values that a whole deployment shares, such as a circuit, the state of a health check, the level of a budget. Pure.

Each is a text under a name and changes by compare-and-swap on the nonce of its last change, so no change is lost if two processes change it
at the same time. Only its writer interprets the text (`sedano.model.circuits`, `health`, `budgets`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sedano.model.messages.strict_json import load

CIRCUIT, HEALTH, BUDGET, PAUSE, DEPLOYMENT, BULK = "circuit", "health", "budget", "pause", "deployment", "bulk"
SPENDING = "spending"
"""The subjects of memos: the first part of their names."""


MOST_BYTES = 400_000
"""The limit of an item of DynamoDB."""
MOST_DEPTH = 4


class Memo(NamedTuple):
    """A memo: its *name* (``circuit:shop.add``), its *text*, and the *nonce* of its last change; empty: never written."""

    name: str
    text: str = ""
    nonce: str = ""


class MemoChanged(NamedTuple):
    """The answer to a change: *done* with the new memo, or refused with the current one."""

    done: bool
    memo: Memo


def memo_name(kind: str, name: str) -> str:
    """Return the name of the memo of this *kind* about *name*."""
    return f"{kind}:{name}"


def parts(text: str) -> Any:
    """Return the JSON value in the *text* of a memo.

    Raises:
        MessageRefused: *text* is not strict JSON (a `ValueError`).
    """
    return load(text, MOST_BYTES, MOST_DEPTH, "memo")


def moment(part: object) -> float:
    """Return *part* of a memo as seconds since the epoch.

    Raises:
        ValueError: it is not a number.
        OverflowError: it does not fit in a double.
    """
    if type(part) not in (int, float):
        raise ValueError(f"expected a number, got {type(part).__name__}")
    return float(part)  # type: ignore[arg-type] # checked above
