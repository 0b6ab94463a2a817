"""Colours on a terminal: whether lines have them, and their escape sequences."""

from __future__ import annotations

from collections.abc import Mapping

STYLES: Mapping[str, str] = {"dim": "2", "good": "32", "warning": "33", "bad": "31", "task": "36", "bold": "1"}
"""The sequence of each style."""
RESET = "\x1b[0m"
AUTO, ALWAYS, NEVER = "auto", "always", "never"
CHOICES = (AUTO, ALWAYS, NEVER)
"""The values of `--color`."""


def wants_colour(environment: Mapping[str, str], *, is_terminal: bool, asked: str | None = None) -> bool:
    """Return whether lines are coloured.

    The option `--color` (*asked*) takes precedence, then NO_COLOR, then CLICOLOR_FORCE and FORCE_COLOR. Without these, lines are coloured
    on a terminal, unless it has TERM=dumb.
    """
    if asked in (ALWAYS, NEVER):
        return asked == ALWAYS
    if environment.get("NO_COLOR"):
        return False
    if environment.get("CLICOLOR_FORCE", "0") != "0" or environment.get("FORCE_COLOR"):
        return True
    return is_terminal and environment.get("TERM") != "dumb"


def painted(text: str, style: str, *, colour: bool = True) -> str:
    """Return *text* in *style*; unchanged if *style* is empty or *colour* is false."""
    return f"\x1b[{STYLES[style]}m{text}{RESET}" if colour and style else text
