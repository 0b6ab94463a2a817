"""The navigation of `sedano top`: the current screen, the screens before it, and the effect of each key. Pure.

A key returns the next state, or None to quit. This module neither reads nor draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sedano.views.panels import Cell, ScreenQuery
from sedano.views.screens import OF_ID
from sedano.views.terminal_screen import TextRow, targets

MOST_BACK = 50
FIRST_S, MOST_S, MOST_AWAY_S = 2.0, 30.0, 60.0
"""Seconds between two reads: at first, when nothing changes, and while the stores do not answer."""
KEYS: Mapping[str, str] = {
    "n": "now", "t": "tasks", "f": "failures", "h": "throughput", "u": "queues", "s": "schedules", "w": "workers", "l": "locks",
    "c": "circuits", "e": "events", "a": "changes", "o": "cost",
}  # fmt: skip
"""The key of each screen."""
PAGE, ALL = 10, 1_000_000
STEPS: Mapping[str, int] = {"j": 1, "down": 1, "k": -1, "up": -1, "page down": PAGE, "page up": -PAGE, "G": ALL, "g": -ALL}
"""The number of lines by which each key moves the selection."""
HELP = (
    "n now  t tasks  f failures  h throughput  u queues  s schedules  w workers  l locks  c circuits  e events  a changes  o cost",
    "j k or arrows: move   Enter: open   b: back   /: search (tasks; on locks: their names; on events: types, ids, names)",
    "space: hold the picture   r: read now   x: hide or show results and messages   ?: this help   q: quit",
)


class Browser(NamedTuple):
    """The state of the navigation: the screen *asked* for, the *selected* line, the way *back*, the search *typed* (None: none).

    *held*: the screen is not read again. *helped*: the help is shown. *fresh*: the screen must be read now.
    """

    asked: ScreenQuery = ScreenQuery()
    selected: int = 0
    back: tuple[ScreenQuery, ...] = ()
    typed: str | None = None
    held: bool = False
    helped: bool = False
    fresh: bool = True


def pressed(state: Browser, key: str, rows: Sequence[TextRow]) -> Browser | None:
    """Return the state after *key* while *rows* are shown; None to quit."""
    if state.typed is not None:
        return _typing(state, state.typed, key)
    if key == "q":
        return None
    if key in KEYS:
        return visited(state, ScreenQuery(KEYS[key], redact=state.asked.redact, days=state.asked.days))
    if key in ("b", "backspace", "left") and state.back:
        return state._replace(asked=state.back[-1], back=state.back[:-1], selected=0, fresh=True)
    if key in ("enter", "right"):
        return _opened(state, rows)
    switched = {
        "/": state._replace(typed=""), " ": state._replace(held=not state.held), "r": state._replace(fresh=True),
        "?": state._replace(helped=not state.helped),
        "x": state._replace(asked=state.asked._replace(redact=not state.asked.redact), fresh=True),
    }  # fmt: skip
    return switched.get(key) or _moved(state, key, rows)


def visited(state: Browser, asked: ScreenQuery) -> Browser:
    """Return *state* at another screen, with the way back."""
    back = (*state.back, state.asked)[-MOST_BACK:] if asked != state.asked else state.back
    return state._replace(asked=asked, back=back, selected=0, fresh=True)


def pause_after_read(pause: float, *, changed: bool) -> float:
    """Return the seconds to wait after a read: two after a change, and longer each time that nothing has changed."""
    return FIRST_S if changed else min(pause * 1.5, MOST_S)


def pause_after_failure(pause: float) -> float:
    """Return the seconds to wait after a read that failed."""
    return min(pause * 2, MOST_AWAY_S)


def _typing(state: Browser, typed: str, key: str) -> Browser:
    if key == "enter":
        name = state.asked.name if state.asked.name in ("locks", "events") else "tasks"
        return visited(state._replace(typed=None), ScreenQuery(name, query=typed.strip(), days=state.asked.days, redact=state.asked.redact))
    if key == "escape":
        return state._replace(typed=None)
    if key == "backspace":
        return state._replace(typed=typed[:-1])
    return state._replace(typed=typed + key) if len(key) == 1 else state


def _opened(state: Browser, rows: Sequence[TextRow]) -> Browser:
    target = rows[state.selected].target if 0 <= state.selected < len(rows) else None
    return state if target is None else visited(state, _asked(target, state.asked))


def _asked(target: Cell, before: ScreenQuery) -> ScreenQuery:
    if target.kind in OF_ID:
        return ScreenQuery(target.kind, id=target.link, days=before.days, redact=before.redact)
    return ScreenQuery("tasks", query=target.link, days=before.days, redact=before.redact)


def _moved(state: Browser, key: str, rows: Sequence[TextRow]) -> Browser:
    """Return *state* with another line selected among those with a link, or among all lines if none has a link."""
    lines = targets(rows) or [*range(len(rows))]
    step = STEPS.get(key, 0)
    if not step or not lines:
        return state
    if step > 0:
        below = [number for number in lines if number > state.selected]
        return state._replace(selected=below[min(step, len(below)) - 1] if below else lines[-1])
    above = [number for number in lines if number < state.selected]
    return state._replace(selected=above[max(len(above) + step, 0)] if above else lines[0])
