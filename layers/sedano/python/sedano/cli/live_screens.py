"""Shows the screens of a stage on a terminal and reads them again while they change: the work of `sedano top`.

The picture is drawn in place, on the terminal's alternate screen, which is closed at the end.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from sedano.app import Sedano
from sedano.cli.exits import Exit
from sedano.cli.printer import say_json
from sedano.dev.keys import single
from sedano.errors import SedanoError, UsageError
from sedano.views.browser import FIRST_S, HELP, Browser, pause_after_failure, pause_after_read, pressed
from sedano.views.panels import Screen, ScreenQuery
from sedano.views.screens import screen
from sedano.views.terminal_colour import wants_colour
from sedano.views.terminal_screen import Size, TextRow, frame, price, rows

ENTER, LEAVE = "\x1b[?1049h\x1b[?25l\x1b[2J", "\x1b[?25h\x1b[?1049l"
"""Begin and end the alternate screen of a terminal, without a cursor."""
LOOK_S = 0.5
"""The longest time (s) between two checks of the terminal's size."""
ESCAPED: Mapping[str, str] = {
    "[A": "up", "[B": "down", "[C": "right", "[D": "left", "OA": "up", "OB": "down", "OC": "right", "OD": "left", "[5~": "page up",
    "[6~": "page down",
}  # fmt: skip
PLAIN: Mapping[str, str] = {"\r": "enter", "\n": "enter", "\x7f": "backspace", "\b": "backspace", "\x1b": "escape"}


class Picture(NamedTuple):
    """The last picture: its *screen*, its lines, and why the last look failed, if it did."""

    screen: Screen | None
    rows: Sequence[TextRow]
    wrong: str = ""


def run(app: Sedano, asked: ScreenQuery, environment: Mapping[str, str] = os.environ) -> Exit:
    """Show the *asked* screen, and those that keys lead to, until `q`.

    Raises:
        UsageError: stdin or stdout is not a terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("top draws on a terminal; for a program add --json, in a pipe use `sedano list`, `sedano queues` and the like")
    colour = wants_colour(environment, is_terminal=True)
    with _terminal(sys.stdin.fileno(), sys.stdout.fileno()):
        _loop(app, Browser(asked), colour=colour)
    return Exit.DONE


def stream(app: Sedano, asked: ScreenQuery, sleep: Callable[[float], None] = time.sleep) -> Exit:
    """Write the *asked* screen as one line of JSON, and again whenever it has changed, until Ctrl-C.

    Raises:
        SedanoError: reading the screen failed.
        KeyboardInterrupt: Ctrl-C.
    """
    before, pause = None, FIRST_S
    while True:
        view = screen(app, asked).json
        drawn = {**view, "about": None} if isinstance(view, dict) else view  # the moment and the price of a look are no change
        pause = pause_after_read(pause, changed=drawn != before)
        if drawn != before:
            say_json({"schema": "sedano.top/1", "screen": asked.name, "view": view})
            sys.stdout.flush()
        before = drawn
        sleep(pause)


def _loop(app: Sedano, first: Browser, *, colour: bool) -> None:
    state: Browser | None = first
    seen, pause, due, typed, drawn = Picture(None, ()), FIRST_S, 0.0, deque[str](), ""
    while state is not None:
        if state.fresh or (not state.held and state.typed is None and time.monotonic() >= due):
            before, seen = seen, _look(app, state, seen)
            pause = pause_after_failure(pause) if seen.wrong else pause_after_read(pause, changed=state.fresh or before.rows != seen.rows)
            due = time.monotonic() + pause
            state = state._replace(fresh=False, selected=_kept(before.rows, seen.rows, state.selected))
        drawn = _draw(state, seen, pause, drawn, colour=colour)
        if not typed:
            typed.extend(_keys(LOOK_S if state.held or state.typed is not None else due - time.monotonic()))
        while typed and state is not None and not state.fresh:  # the rest means the next picture
            state = pressed(state, typed.popleft(), seen.rows)


def _look(app: Sedano, state: Browser, before: Picture) -> Picture:
    """Read the screen; after a failure the last picture stays, with the reason."""
    try:
        found = screen(app, state.asked)
    except SedanoError as wrong:
        return before._replace(wrong=f"{type(wrong).__name__}: {wrong}")
    return Picture(found, rows(found))


def _kept(before: Sequence[TextRow], after: Sequence[TextRow], selected: int) -> int:
    """Return the line that leads where the line *selected* led before; the same number where no line does."""
    target = before[selected].target if selected < len(before) else None
    return next((number for number, one in enumerate(after) if target is not None and one.target == target), selected)


def _draw(state: Browser, seen: Picture, pause: float, drawn: str, *, colour: bool) -> str:
    """Draw the picture if it differs from *drawn*, the last one; return it."""
    columns, lines = os.get_terminal_size(sys.stdout.fileno())
    title = seen.screen.title if seen.screen is not None else state.asked.name
    how = "held" if state.held else f"again in {pause:.0f} s"
    head = f" sedano top  {title}  ({how}; ? help, q quit)"
    foot = seen.wrong or (price(seen.screen.about) if seen.screen is not None else "reading")
    if state.typed is not None:
        foot = f"search: {state.typed}"
    shown = [TextRow(text) for text in HELP] if state.helped else seen.rows
    text = frame(shown, Size(columns, lines), state.selected, head, foot, colour=colour)
    if text != drawn:
        _write(sys.stdout.fileno(), text)
    return text


def _keys(left: float) -> Iterator[str]:
    """Yield the keys that are pressed within *left* seconds, or until the size of the terminal may have changed."""
    stdin = sys.stdin.fileno()
    ready, _, _ = select.select([stdin], [], [], min(max(left, 0.0), LOOK_S))
    if ready:
        yield from keys(os.read(stdin, 1_024).decode("utf-8", "replace"))


def keys(typed: str) -> Iterator[str]:
    """Yield the names of the keys in the text that a terminal sent; sequences that are not known are left out.

    An empty text is the end of the terminal, and means `q`.
    """
    if not typed:
        yield "q"
    while typed:
        if typed[0] == "\x1b" and len(typed) > 1 and typed[1] in "[O":
            end = next((place for place, one in enumerate(typed[2:], 2) if "@" <= one <= "~"), len(typed) - 1)
            name, typed = ESCAPED.get(typed[1 : end + 1]), typed[end + 1 :]
            if name is not None:
                yield name
            continue
        one, typed = typed[0], typed[1:]
        if one in PLAIN or one.isprintable():
            yield PLAIN.get(one, one)


@contextmanager
def _terminal(stdin: int, stdout: int) -> Iterator[None]:
    """Read single keys and use the alternate screen; restore both at the end, even after an error."""
    with single(stdin):
        try:
            _write(stdout, ENTER)
            yield
        finally:
            _write(stdout, LEAVE)


def _write(target: int, text: str) -> None:
    data = text.encode(getattr(sys.stdout, "encoding", None) or "utf-8", "backslashreplace")
    while data:
        data = data[os.write(target, data) :]
