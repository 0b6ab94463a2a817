"""The output of all verbs: text from outside cannot move the cursor or start an escape sequence.

Any sender of messages may have written names, reasons, errors and bodies. Control characters (C0 with ESC, C1), the marks that turn
the direction of text (Trojan Source, CVE-2021-42574), invisible characters and lone surrogates are written as they are in Python's source,
`\\x1b` and `\\u202e`; so is a line feed within one line, which could otherwise forge another line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from sedano.views.terminal_text import columns
from sedano.views.terminal_text import line as line

Row = Sequence[str]


def say(*lines: str, err: bool = False) -> None:
    """Write each of *lines*, as one line, to stdout, or to stderr (*err*)."""
    stream = sys.stderr if err else sys.stdout
    if stream is None:  # it was closed when the program began
        return
    for one in lines:
        print(encoded(line(one), stream), file=stream)


def put(lines: Iterable[str]) -> None:
    """Write *lines* to stdout as they are: their texts have passed `line`, and only colours of sedano are around them."""
    if sys.stdout is not None:
        for one in lines:
            print(encoded(one, sys.stdout))


def encoded(text: str, stream: Any) -> str:
    """Return *text* with those characters escaped that *stream* cannot encode."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def say_text(text: str, *, err: bool = False) -> None:
    """Write *text*, which may have several lines."""
    say(*text.split("\n"), err=err)


def say_json(value: Any) -> None:
    """Write *value* to stdout unchanged, as one line of JSON in ASCII, for programs."""
    print(json.dumps(value, default=str).replace("\x7f", "\\u007f"))


def table(head: Row, rows: Iterable[Row]) -> None:
    """Print a table of a report with its columns in line; lists are printed by `sedano.cli.tables`."""
    every = [[line(text) for text in row] for row in (head, *rows)]
    widths = [max(columns(row[n]) for row in every) for n in range(len(head))]
    for row in every:
        say("  ".join(text + " " * (width - columns(text)) for text, width in zip(row, widths, strict=True)).rstrip())
