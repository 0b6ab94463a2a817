"""The state flow: tasks as ribbons from published over received and started to the states they are in."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from glue_jobs.pipeline.report.charts import Band, ribbons
from glue_jobs.pipeline.report.style import FAILED, LEFT_OUT
from glue_jobs.pipeline.report.words import count, safe, share
from sedano.model.states import PENDING, RECEIVED, REJECTED, RETRY, STARTED, SUCCESS

Content = dict[str, Any]

#: The states from the top to the bottom: successes above failures; any other state is last.
ORDER = (SUCCESS, STARTED, RECEIVED, PENDING, RETRY, *LEFT_OUT, REJECTED, *FAILED)
GAP = 0.05
LABEL = 0.125
_COLUMNS = ((0.0, "published"), (0.36, "received"), (0.7, "started"))


def flow(ways: Sequence[Content]) -> str:
    """Draw the *ways* that tasks went (`gather`): how many were received, were started, and are in which state."""
    total = sum(way["tasks"] for way in ways)
    if not total:
        return '<p class="none">No task is known.</p>'
    ranked = sorted(ways, key=_rank)
    edges = [0.0, 0.36, 0.7, 1.0]
    places = [_stacked(ranked, total, _held(column)) for column in range(4)]
    bands: list[tuple[Band, Band, Band, str, str]] = []
    for n, way in enumerate(ranked):
        stops = [column for column in range(4) if column in (0, 3) or way["received" if column == 1 else "started"]]
        for left, right in pairwise(stops):
            words = f"{count(way['tasks'])} tasks: {way['state']}"
            known = way["state"] if way["state"] in ORDER else "other"  # a custom state is a text from outside
            bands.append(((edges[left], edges[right]), places[left][n], places[right][n], known, words))
    nodes = [_head(x, name, sum(w["tasks"] for w in ranked if _held(c)(w)), total) for c, (x, name) in enumerate(_COLUMNS)]
    drawing = ribbons(bands, "The states that published tasks went through")
    return f'<div class="flowbox"><div style="position:relative">{drawing}{"".join(nodes)}{_ends(ranked, places[3], total)}</div></div>'


def _rank(way: Content) -> tuple[int, str, bool, bool]:
    state = way["state"]
    return (ORDER.index(state) if state in ORDER else len(ORDER), state, not way["started"], not way["received"])


def _held(column: int) -> Callable[[Content], bool]:
    """Return the test whether a way passes a column."""
    return lambda way: column in (0, 3) or bool(way["received" if column == 1 else "started"])


def _stacked(ways: Sequence[Content], total: int, held: Callable[[Content], bool]) -> list[Band]:
    """Return where each way passes a column, from the top down, with gaps between states."""
    states = list(dict.fromkeys(way["state"] for way in ways))
    room = 1.0 - GAP * (len(states) - 1)
    found, at, before = [], 0.0, states[0]
    for way in ways:
        if way["state"] != before:
            at, before = at + GAP, way["state"]
        high = way["tasks"] / total * room if held(way) else 0.0
        found.append((at, at + high))
        at += high
    return found


def _head(x: float, name: str, tasks: int, total: int) -> str:
    return (
        f'<div class="node head" style="left:{x * 100:.0f}%;top:0"><b>{safe(name)}</b>'
        f"<span>{count(tasks)} · {safe(share(tasks, total))}</span></div>"
    )


def _ends(ways: Sequence[Content], places: Sequence[Band], total: int) -> str:
    """Write each state beside its ribbons, none over another."""
    states = list(dict.fromkeys(way["state"] for way in ways))
    of_state = {s: [place for way, place in zip(ways, places, strict=True) if way["state"] == s] for s in states}
    tops = _apart([(mine[0][0] + mine[-1][1]) / 2 for mine in of_state.values()])
    shown = []
    for state, top in zip(states, tops, strict=True):
        tasks = sum(way["tasks"] for way in ways if way["state"] == state)
        words = f"<b>{safe(state)}</b><span>{count(tasks)} · {safe(share(tasks, total))}</span>"
        shown.append(f'<div class="node" style="left:calc(100% + 10px);top:{top * 100:.1f}%">{words}</div>')
    return "".join(shown)


def _apart(tops: Sequence[float]) -> list[float]:
    """Return the places of labels, moved down and then up until each has its room."""
    down: list[float] = []
    for top in tops:
        down.append(max(top, down[-1] + LABEL) if down else max(top, LABEL / 2))
    up: list[float] = []
    for top in reversed(down):
        up.append(min(top, up[-1] - LABEL) if up else min(top, 1 - LABEL / 2))
    return up[::-1]
