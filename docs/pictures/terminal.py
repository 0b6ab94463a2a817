"""Draws what a terminal showed as an SVG: its lines, its colours, light or dark as the reader's screen is.

The input is text with the escape sequences of colours (`ESC [ … m`); `sedano` writes no others. Long lines are broken at the width, as a
terminal does. The picture has no script and loads nothing, and its text can be selected and read aloud.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

COLUMNS = 100
"""The width of a terminal that is drawn."""
_CHARACTER, _LINE, _MARGIN, _HEAD = 8.0, 18, 14, 30
_SGR = re.compile(r"\x1b\[([0-9;]*)m")
_CLASSES = {"1": "b", "2": "d", "31": "r", "32": "g", "33": "y", "36": "c"}
_STYLE = """
svg{background:#fff}text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1f2328;white-space:pre}
.f{fill:#fff;stroke:#c9ced6}.h{fill:#eef0f3}.t{fill:#4d555e}.p{fill:#0a5c36;font-weight:600}
.b{font-weight:600}.d{fill:#59636e}.r{fill:#b3261e}.g{fill:#0a6b3d}.y{fill:#7a5200}.c{fill:#0b5cad}
@media (prefers-color-scheme:dark){svg{background:#0d1117}text{fill:#e6edf3}.f{fill:#0d1117;stroke:#3d444d}.h{fill:#1b212a}.t{fill:#a6b0bb}
.p{fill:#7ee2a8}.d{fill:#9aa4af}.r{fill:#ff8f85}.g{fill:#6fdc9b}.y{fill:#e8b457}.c{fill:#7cbcff}}
"""


class Span(NamedTuple):
    """A piece of a line: its *text*, and the classes of its *style*, separated by blanks."""

    text: str
    style: str = ""


class Screen(NamedTuple):
    """One terminal: the *title* of its window, and what it showed, with escape sequences."""

    title: str
    text: str


def spans(text: str) -> Iterator[list[Span]]:
    """Yield the lines of *text* as spans; a style lasts until it is reset, also over the end of a line."""
    style: tuple[str, ...] = ()
    for row in text.replace("\r\n", "\n").rstrip("\n").split("\n"):
        line: list[Span] = []
        for number, part in enumerate(_SGR.split(row)):
            if number % 2:
                style = _after(style, part)
            elif part:
                line.append(Span(part, " ".join(style)))
        yield line


def wrapped(line: Sequence[Span], columns: int = COLUMNS) -> list[list[Span]]:
    """Return the rows that a *line* takes on a terminal of so many *columns*: at least one."""
    rows: list[list[Span]] = [[]]
    left = columns
    for span in line:
        text = span.text
        while text:
            if not left:
                rows.append([])
                left = columns
            rows[-1].append(Span(text[:left], span.style))
            text, left = text[left:], left - len(text[:left])
    return rows


def drawn(screens: Sequence[Screen], described: str, columns: int = COLUMNS) -> str:
    """Return an SVG of *screens*, one below the other; *described* says to those who do not see it what is on it."""
    width = columns * _CHARACTER + 2 * _MARGIN
    parts: list[str] = []
    top = 0
    for screen in screens:
        rows = [row for line in spans(screen.text) for row in wrapped(line, columns)]
        height = _HEAD + len(rows) * _LINE + _MARGIN
        parts += _window(screen.title, rows, top, width, height)
        top += height + _MARGIN
    size = f'width="{width:.0f}" height="{top - _MARGIN}" viewBox="0 0 {width:.0f} {top - _MARGIN}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(described)}" {size}>'
    return "\n".join([head, f"<style>{_STYLE}</style>", *parts, "</svg>", ""])


def _window(title: str, rows: Sequence[Sequence[Span]], top: int, width: float, height: int) -> list[str]:
    frame = f'x="0.5" y="{top + 0.5}" width="{width - 1:.0f}"'
    return [
        f'<rect class="f" {frame} height="{height - 1}" rx="8"/>',
        f'<path class="h" d="{_lid(top + 1, width - 1)}"/>',
        f'<text class="t" x="{_MARGIN}" y="{top + 18}">{escape(title)}</text>',
        *(_row(row, top + _HEAD + number * _LINE + 13) for number, row in enumerate(rows)),
    ]


def _lid(top: int, right: float) -> str:
    """Return the path of the bar with the title: round above, straight below."""
    return f"M1 {top + _HEAD - 5}V{top + 8}Q1 {top} 9 {top}H{right - 8:.0f}Q{right:.0f} {top} {right:.0f} {top + 8}V{top + _HEAD - 5}Z"


def _row(row: Sequence[Span], y: int) -> str:
    inner = "".join(f'<tspan class="{one.style}">{escape(one.text)}</tspan>' if one.style else escape(one.text) for one in row)
    return f'<text x="{_MARGIN}" y="{y}" xml:space="preserve">{inner}</text>' if inner else ""


def _after(style: tuple[str, ...], codes: str) -> tuple[str, ...]:
    """Return the style after the sequence *codes*: `0` ends all, others add to it; one that is unknown changes nothing."""
    for code in codes.split(";"):
        if code in ("", "0"):
            style = ()
        elif code in _CLASSES:
            style = (*style, _CLASSES[code])
    return style
