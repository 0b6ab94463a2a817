"""Lists: aligned and coloured on a terminal, separated by tabs in a pipe.

A pipe gets one row per line, each cell complete: moments in RFC 3339 (UTC), seconds as a number, an empty cell for None, and a head only
with `--header`. A terminal gets aligned columns below a head, moments relative to now, and a pager if the list is longer than the screen.
`--json` writes the whole list as one document, and a stream (`sedano tail`) as one object per line.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from sedano.cli.options import chosen_here
from sedano.cli.printer import encoded, put, say, say_json
from sedano.model.messages.timestamps import shown, write
from sedano.model.states import ROWS
from sedano.views.findings import FAULT, OK, WARNING
from sedano.views.terminal_colour import painted, wants_colour
from sedano.views.terminal_text import columns, line

MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400
MOST_DAYS = 99
"""A moment that is farther away than this many days is shown as a date."""
PAGER = "less -FRX"
_STYLES: Mapping[str, str] = {"": "", "running": "task", "done": "good", "failed": "bad"}
STYLE_OF: Mapping[str, str] = {
    **{state.value: _STYLES[row.style] for state, row in ROWS.items()},
    "LOST": "bad", "open": "bad", OK: "good", WARNING: "warning", FAULT: "bad",
}  # fmt: skip
"""The colours of cells that consist of one of these words."""


class Instant(float):
    """A moment (epoch s); 0 is none."""


class Seconds(float):
    """A length of time."""


class Age(Seconds):
    """A length of time that is shown in days."""


Cell = str | int | Instant | Seconds | None
"""A cell: a string, a number, a bool (yes or no), or an empty cell (None)."""


def listing(
    names: Sequence[str], rows: Iterable[Sequence[Cell]], environment: Mapping[str, str] = os.environ, *, now: float | None = None
) -> None:
    """Write *rows* to stdout, for a terminal or a pipe; *names* are the head, which a pipe gets with `--header` only.

    *now* (epoch s): a terminal gets moments relative to it; None: absolute moments.
    """
    if _is_terminal():
        texts = [[_for_people(cell, now) for cell in cells] for cells in rows]
        paged(_aligned(names, texts, colour=_colour(environment)), environment)
        return
    head(names)
    for cells in rows:
        row(cells, environment)


def document(verb: str, items: Iterable[Mapping[str, Any]], **facts: Any) -> None:
    """Write a list to stdout as one document of JSON: its *items* and other *facts* about it. The *verb* is the name of its schema.

    An `Instant` is written in RFC 3339, null for none.
    """
    say_json({"schema": f"sedano.{verb}/1", "items": [for_json(one) for one in items], **facts})


def for_json(value: Any) -> Any:
    """Return *value* with each `Instant` in it in RFC 3339, null for none."""
    if isinstance(value, Instant):
        return write(value) if value else None
    if isinstance(value, Mapping):
        return {name: for_json(one) for name, one in value.items()}
    return [for_json(one) for one in value] if isinstance(value, list | tuple) else value


def relative(moment: float, now: float) -> str:
    """Return *moment* relative to *now* (epoch s), such as ``3 min ago`` or ``in 2 h``; a far one as a date."""
    apart = abs(now - moment)
    if apart >= (MOST_DAYS + 1) * DAY_S:
        return shown(moment)[:10]
    units = ((DAY_S, "d"), (HOUR_S, "h"), (MINUTE_S, "min"), (1, "s"))
    text = next((f"{apart // seconds:.0f} {unit}" for seconds, unit in units if apart >= seconds), "")
    return "now" if not text else f"{text} ago" if moment < now else f"in {text}"


def head(names: Sequence[str]) -> None:
    """Write the head of a list whose rows follow one by one: in a pipe with `--header`, else none."""
    if chosen_here("header") and not _is_terminal():
        put(["\t".join(name.lower().replace(" ", "_") for name in names)])


def row(cells: Sequence[Cell], environment: Mapping[str, str] = os.environ) -> None:
    """Write one row of a list: all cells to a pipe, and to a terminal those that are not empty."""
    colour = _colour(environment)
    if _is_terminal():
        put(["  ".join(_styled(text, text, colour=colour) for cell in cells if (text := _for_people(cell)) != "-")])
    else:
        put(["\t".join(_styled(text, text, colour=colour) for text in map(_for_programs, cells))])


def styled(text: str, word: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return *text* in the colour of *word* if stdout is coloured; *text* must be escaped already."""
    return _styled(text, word, colour=_colour(environment))


def paged(lines: Sequence[str], environment: Mapping[str, str] = os.environ) -> None:
    """Write escaped *lines* to the terminal, through the pager if the terminal has no room for them and the next prompt."""
    command, height = pager(environment), _height()
    if not command or not 0 < height <= len(lines):
        put(lines)
        return
    sys.stdout.flush()
    try:
        running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=sys.stdout, env={"LESS": "FRX", **environment})
    except OSError as wrong:
        say(f"sedano: the pager {command[0]} does not start: {wrong.strerror}; set SEDANO_PAGER to another one, or to cat", err=True)
        put(lines)
        return
    with suppress(BrokenPipeError, KeyboardInterrupt):  # the reader has seen enough
        running.communicate(encoded("".join(f"{one}\n" for one in lines), sys.stdout).encode())
    _ended(running.wait)


def pager(environment: Mapping[str, str]) -> list[str]:
    """Return the pager's command as a list of words; empty for no pager.

    SEDANO_PAGER has precedence over PAGER; the default is `less -FRX`, which prints short lists directly. With TERM=dumb there is no pager.
    """
    asked = next((environment[name] for name in ("SEDANO_PAGER", "PAGER") if name in environment), PAGER)
    words = shlex.split(asked)
    return [] if words in ([], ["cat"]) or environment.get("TERM") == "dumb" else words


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def _colour(environment: Mapping[str, str]) -> bool:
    return wants_colour(environment, is_terminal=_is_terminal(), asked=chosen_here("color"))


def _ended(wait: Callable[[], object]) -> None:
    """Wait for the pager, which handles Ctrl-C itself."""
    while True:
        with suppress(KeyboardInterrupt):
            wait()
            return


def _height() -> int:
    """Return the number of lines of the terminal; 0 if unknown."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).lines
    except (OSError, ValueError):
        return 0


def _aligned(names: Sequence[str], rows: Sequence[Sequence[str]], *, colour: bool) -> list[str]:
    widths = [max(columns(one[place]) for one in (names, *rows)) for place in range(len(names))]
    made = [painted(_joined(names, widths, colour=False), "bold", colour=colour)]
    return made + [_joined(one, widths, colour=colour) for one in rows]


def _joined(texts: Sequence[str], widths: Sequence[int], *, colour: bool) -> str:
    cells = []
    for place, (text, width) in enumerate(zip(texts, widths, strict=True)):
        rest = "" if place == len(texts) - 1 else " " * (width - columns(text))
        cells.append(_styled(text, text, colour=colour) + rest)
    return "  ".join(cells).rstrip()


def _styled(text: str, word: str, *, colour: bool) -> str:
    return painted(text, STYLE_OF.get(word, ""), colour=colour)


def _for_people(cell: Cell, now: float | None = None) -> str:
    if isinstance(cell, Instant):
        return "-" if not cell else shown(cell) if now is None else relative(cell, now)
    if isinstance(cell, Age):
        return f"{cell // DAY_S:.0f} d" if cell >= DAY_S else f"{cell:.0f} s"
    if isinstance(cell, Seconds):
        return f"{cell:.3f} s"
    return _text(cell) or "-"


def _for_programs(cell: Cell) -> str:
    if isinstance(cell, Instant):
        return write(cell) if cell else ""
    if isinstance(cell, Seconds):
        return f"{cell:.6f}"
    return _text(cell).replace("\t", "\\t")


def _text(cell: Cell) -> str:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return "" if cell is None else line(str(cell))

