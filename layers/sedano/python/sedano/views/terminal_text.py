"""Makes text from outside safe for a terminal: it cannot move the cursor or start an escape sequence.

Control characters (C0 with ESC, C1), marks that change the direction of text (Trojan Source, CVE-2021-42574), invisible characters and lone
surrogates are written as in Python's source, `\\x1b` and `\\u202e`. So is a line feed within a line, because it would forge another line.
"""

from __future__ import annotations

from unicodedata import category, east_asian_width


def line(text: str) -> str:
    """Return *text* as one line that is safe to show on a terminal."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(one if one == "\t" or _is_plain(one) else _escaped(one) for one in text)


def columns(text: str) -> int:
    """Return how many columns a terminal takes for *text*: two for wide characters, none for marks that combine."""
    if text.isascii():
        return len(text)
    return sum(0 if category(one) in ("Mn", "Me") else 2 if east_asian_width(one) in "WF" else 1 for one in text)


def _is_plain(one: str) -> bool:
    return one.isprintable() or one == "\xa0" or one == "\u3000"


def _escaped(one: str) -> str:
    return {"\n": "\\n", "\r": "\\r"}.get(one) or ascii(one)[1:-1]
