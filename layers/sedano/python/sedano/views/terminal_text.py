"""Text from outside as a terminal may show it: it moves no cursor and starts no escape sequence.

Control characters (C0 with ESC, C1), marks that turn the direction of text (Trojan Source, CVE-2021-42574), invisible characters and lone
surrogates are written as in Python's source, `\\x1b` and `\\u202e`. So is a line feed in one line, which would otherwise forge another.
"""

from __future__ import annotations


def line(text: str) -> str:
    """Return *text* as one line that a terminal shows as it is."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(one if one == "\t" or _is_plain(one) else _escaped(one) for one in text)


def _is_plain(one: str) -> bool:
    return one.isprintable() or one == "\xa0" or one == "\u3000"


def _escaped(one: str) -> str:
    return {"\n": "\\n", "\r": "\\r"}.get(one) or ascii(one)[1:-1]
