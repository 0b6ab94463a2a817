"""The timeline of a run as a picture: a row for each worker process with its bodies and faults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from examples.census.facts import STOLEN, Body, Facts
from examples.census.page import legend, scrolling, text

COLOURS = {"measure": "var(--a)", "count_imports": "var(--b)", "flag_long_functions": "var(--c)"}
OTHER = "var(--d)"
LEFT, WIDTH, ROW, TOP = 118, 980, 24, 8
MOST_TICKS, STEPS = 12, (1, 2, 5, 10, 20, 30, 60)


@dataclass(frozen=True, slots=True)
class Axis:
    """Maps seconds since *began* to places from left to right."""

    began: float
    seconds: float

    def x(self, at: float) -> float:
        """Return the place of the moment *at* (epoch s)."""
        share = (at - self.began) / self.seconds
        return LEFT + (WIDTH - LEFT - 14) * max(0.0, min(1.0, share))


def timeline(facts: Facts) -> str:
    """Return the picture with its legend."""
    material = facts.material
    axis = Axis(material.began, max(1.0, material.ended - material.began))
    cut = material.done
    kills = {kill.pid: kill.at for kill in (*cut.kills, *cut.process_kills) if kill.hit}
    rows = _rows(facts.bodies, kills)
    processes = {kill.pid for kill in cut.process_kills} | {body.pid for body in facts.bodies if body.is_of_process}
    steals = [line["timestamp"] for line in material.lines if line["type"] == STOLEN]
    copies = [at for times in material.done.duplicates.values() for at in times]
    lanes = [("sent twice", copies, "var(--b)"), ("taken over", steals, "var(--bad)")]
    height = TOP + ROW * (len(rows) + len(lanes)) + 34
    drawn = [*grid(axis, height), *_invocations(axis, rows, facts)]
    for number, (pid, bodies) in enumerate(rows.items()):
        drawn += _row(axis, number, f"{'process' if pid in processes else 'function'} {pid}", bodies, kills.get(pid))
    for number, (name, times, colour) in enumerate(lanes, len(rows)):
        drawn += lane(axis, number, name, times, colour)
    words = [*((colour, name) for name, colour in COLOURS.items()), (OTHER, "any other"), ("var(--back)", "an invocation"),
             ("var(--bad)", "✕ killed")]  # fmt: skip
    picture = f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="timeline of the run">{"".join(drawn)}</svg>'
    return legend(words) + scrolling(picture, "timeline of the run")


def _rows(bodies: Iterable[Body], kills: Mapping[int, float]) -> dict[int, list[Body]]:
    """Return the bodies of each process, processes in the order of their first event."""
    found: dict[int, list[Body]] = {}
    for body in sorted(bodies, key=lambda b: b.started):
        found.setdefault(body.pid, []).append(body)
    for pid in kills:
        found.setdefault(pid, [])
    return dict(sorted(found.items(), key=lambda row: row[1][0].started if row[1] else kills[row[0]]))


def grid(axis: Axis, height: int) -> Iterator[str]:
    """Yield a line for each shown second, with its number below."""
    step = next((step for step in STEPS if axis.seconds / step <= MOST_TICKS), STEPS[-1])
    for second in range(0, int(axis.seconds) + 1, step):
        x = axis.x(axis.began + second)
        yield f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{height - 24}" stroke="var(--line)"/>'
        yield f'<text x="{x:.1f}" y="{height - 8}" text-anchor="middle">{second} s</text>'


def _invocations(axis: Axis, rows: Mapping[int, Sequence[Body]], facts: Facts) -> Iterator[str]:
    places = {pid: TOP + ROW * number for number, pid in enumerate(rows)}
    for line in facts.material.lines:
        if line["type"] == "worker-invocation" and line["pid"] in places:
            end, begin = axis.x(line["timestamp"]), axis.x(line["timestamp"] - line["duration_ms"] / 1000)
            y = places[line["pid"]] + 3
            yield f'<rect x="{begin:.1f}" y="{y}" width="{max(1, end - begin):.1f}" height="{ROW - 6}" rx="2" fill="var(--back)"/>'


def _row(axis: Axis, number: int, name: str, bodies: Sequence[Body], killed: float | None) -> Iterator[str]:
    y = TOP + ROW * number
    yield f'<text x="{LEFT - 10}" y="{y + 16}" text-anchor="end">{name}</text>'
    for body in bodies:
        begin, task = axis.x(body.started), body.name.rpartition(".")[2]
        width = max(0.8, axis.x(body.ended) - begin)
        fill = COLOURS.get(task, OTHER)
        yield f'<rect x="{begin:.1f}" y="{y + 6}" width="{width:.1f}" height="{ROW - 12}" fill="{fill}"/>'
    if killed is not None:
        x, middle = axis.x(killed), y + ROW / 2
        cross = f"M{x - 5:.1f} {middle - 5}l10 10m0-10l-10 10"
        yield f'<path d="{cross}" stroke="var(--bad)" stroke-width="2.5" fill="none"><title>killed</title></path>'


def lane(axis: Axis, number: int, name: str, times: Sequence[float], colour: str) -> Iterator[str]:
    """Draw a named row with a mark at each of *times*."""
    y = TOP + ROW * number
    yield f'<text x="{LEFT - 10}" y="{y + 16}" text-anchor="end">{text(name)}</text>'
    for at in times:
        yield f'<rect x="{axis.x(at) - 0.75:.1f}" y="{y + 5}" width="1.5" height="{ROW - 10}" fill="{colour}"/>'
