"""Memos: small things that a whole deployment must remember, such as a circuit, a check's health, a budget's level. Pure.

Each is a text under a name and changes by compare-and-swap on the nonce of its last change, so two who change it at once lose neither
change. Only its writer interprets the text (`sedano.model.circuits`, `health`, `budget`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sedano.model.messages.strict_json import load

CIRCUIT, HEALTH, BUDGET, PAUSE, DEPLOYMENT, BULK = "circuit", "health", "budget", "pause", "deployment", "bulk"
"""The subjects of memos: the first part of their names."""


MOST_BYTES = 400_000
"""An item of DynamoDB holds no more."""
MOST_DEPTH = 4


class Memo(NamedTuple):
    """A memo: its *name* (``circuit:shop.add``), its *text*, and the *nonce* of its last change; empty: never written."""

    name: str
    text: str = ""
    nonce: str = ""


class MemoChanged(NamedTuple):
    """The answer to a change: *done* with the memo as it is now, or refused with the memo that is in the way."""

    done: bool
    memo: Memo


def memo_name(kind: str, name: str) -> str:
    """Return the name of the memo of this *kind* about *name*."""
    return f"{kind}:{name}"


def parts(text: str) -> Any:
    """Return the JSON value that the *text* of a memo is.

    Raises:
        MessageRefused: it is not strict JSON; a `ValueError`.
    """
    return load(text, MOST_BYTES, MOST_DEPTH, "memo")


def moment(part: object) -> float:
    """Return *part* of a memo as seconds since the epoch.

    Raises:
        ValueError: it is not a number.
        OverflowError: it is beyond a double.
    """
    if type(part) not in (int, float):
        raise ValueError(f"expected a number, got {type(part).__name__}")
    return float(part)  # type: ignore[arg-type] # looked at above
