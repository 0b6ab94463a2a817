"""The drawings: shapes are SVG that stretches to its place, words are HTML beside it, so that both stay legible on a phone."""

import math
from collections.abc import Iterable, Mapping, Sequence

from glue_jobs.pipeline.report.words import count, lasting, safe

WIDE, HIGH = 1000.0, 240.0
_TICKS = (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 7.5, 10)

Band = tuple[float, float]
"""Where something begins and ends, as shares of the whole."""


def svg(shapes: Iterable[str], name: str, label: str, wide: float = WIDE, high: float = HIGH) -> str:
    """Return a drawing that stretches to its place; *label* describes it for readers who cannot see it."""
    inner = "".join(shapes)
    return (
        f'<svg class="{name}" viewBox="0 0 {_n(wide)} {_n(high)}" preserveAspectRatio="none" role="img" '
        f'aria-label="{safe(label)}">{inner}</svg>'
    )


def curves(stacked: Mapping[str, Sequence[int]], line: Sequence[int], times: Sequence[str], label: str) -> str:
    """Draw *stacked* areas by class name and one *line* over them, with *times* below."""
    totals = [sum(values) for values in zip(*stacked.values(), strict=True)]
    top = nice(max([*totals, *line, 1]))
    shapes, floor = [_rules(4)], [0.0] * len(totals)
    for name, values in stacked.items():
        roof = [low + value for low, value in zip(floor, values, strict=True)]
        if any(values):
            shapes.append(f'<path class="{name}" d="{_area(floor, roof, top)}"/>')
        floor = roof
    shapes.append(f'<path class="line" d="{_steps(line, top)}"/>')
    return _framed(svg(shapes, "chart curves", label), [count(top * n / 4) for n in (4, 3, 2, 1, 0)], times)


def heat(cells: Iterable[tuple[int, int, int]], columns: int, edges: Sequence[float], times: Sequence[str], label: str) -> str:
    """Draw *cells* (column, row, how many) darker where there are more; only the rows that hold any, short ones below."""
    kept = list(cells)
    rows = sorted({row for _, row, _ in kept}) or [0]
    low, high = rows[0], rows[-1]
    most = max((many for _, _, many in kept), default=1)
    shapes = [
        f'<rect x="{column}" y="{high - row}" width="1.02" height="0.94" rx="0.12" fill-opacity="{_shade(many, most)}">'
        f"<title>{count(many)} tasks</title></rect>"
        for column, row, many in kept
    ]
    names = [f"≥ {lasting(edges[row])}" if row else f"< {lasting(edges[1])}" for row in range(high, low - 1, -1)]
    drawing = svg(shapes, "chart heat", label, columns, high - low + 1)
    return _framed(drawing, names, times, centred=True)


def ribbons(bands: Iterable[tuple[Band, Band, Band, str, str]], label: str) -> str:
    """Draw ribbons between columns: each from a band at one place to a band at another, with a class and words."""
    shapes = []
    for (x0, x1), (a0, a1), (b0, b1), name, words in bands:
        left, right, middle = x0 * WIDE, x1 * WIDE, (x0 + x1) / 2 * WIDE
        upper = f"M{_n(left)} {_n(a0 * HIGH)}C{_n(middle)} {_n(a0 * HIGH)} {_n(middle)} {_n(b0 * HIGH)} {_n(right)} {_n(b0 * HIGH)}"
        lower = f"V{_n(b1 * HIGH)}C{_n(middle)} {_n(b1 * HIGH)} {_n(middle)} {_n(a1 * HIGH)} {_n(left)} {_n(a1 * HIGH)}Z"
        shapes.append(f'<path class="ribbon {name}" d="{upper}{lower}"><title>{safe(words)}</title></path>')
    return svg(shapes, "chart flow", label)


def lane(busy: Iterable[tuple[int, float]], failed: Iterable[int], session: Band, cells: int, most: float, label: str) -> str:
    """Draw one worker's session: a line as long as it lived, darker where it ran more at once, and a mark where a task failed."""
    begin, end = (min(1.0, max(0.0, at)) * cells for at in session)
    shapes = [f'<rect class="session" x="{_n(begin)}" y="8.5" width="{_n(max(end - begin, 0.5))}" height="1"/>']
    shapes += [
        f'<rect class="busy" x="{cell}" y="1" width="1.03" height="16" fill-opacity="{_shade(value, most)}">'
        f"<title>{value:.2f} at once</title></rect>"
        for cell, value in busy
        if value > 0
    ]
    shapes += [f'<rect class="failed" x="{_n(cell + 0.2)}" y="14" width="0.6" height="4"/>' for cell in failed]
    return svg(shapes, "chart lane", label, cells, 18)


def bars(rows: Iterable[tuple[str, float, str]], most: float) -> str:
    """Draw named horizontal bars with their figures."""
    return "".join(
        f'<div class="bar"><span class="name" title="{safe(name)}">{safe(name)}</span><span class="track">'
        f'<i style="width:{_percent(value, most)}"></i></span><span class="figure">{safe(figure)}</span></div>'
        for name, value, figure in rows
    )


def nice(value: float) -> float:
    """Return the next round number that is not below *value*, so that a quarter of it is one as well."""
    power = 10.0 ** math.floor(math.log10(value / 4)) if value > 0 else 1.0
    return max(4.0, next(4 * tick * power for tick in _TICKS if 4 * tick * power >= value - 1e-9))


def _framed(drawing: str, heights: Sequence[str], times: Sequence[str], *, centred: bool = False) -> str:
    """Put the words of both axes beside a drawing."""
    up = "".join(f"<span>{safe(word)}</span>" for word in heights)
    along = "".join(f"<span>{safe(word)}</span>" for word in times)
    name = "axis cells" if centred else "axis"
    return f'<div class="frame"><div class="{name}">{up}</div><div class="plot">{drawing}</div><div class="times">{along}</div></div>'


def _area(floor: Sequence[float], roof: Sequence[float], top: float) -> str:
    back = " ".join(f"L{_n(x)} {_n(y)}" for x, y in reversed(_points(floor, top)))
    return f"{_path(_points(roof, top))} {back}Z"


def _steps(values: Sequence[float], top: float) -> str:
    return _path(_points(values, top))


def _points(values: Sequence[float], top: float) -> list[tuple[float, float]]:
    """Return both ends of each interval's step, so that one interval alone is visible as well."""
    width = WIDE / max(1, len(values))
    return [(n * width + dx, HIGH * (1 - value / top)) for n, value in enumerate(values) for dx in (0.0, width)]


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + " L".join(f"{_n(x)} {_n(y)}" for x, y in points)


def _rules(parts: int) -> str:
    lines = "".join(f"M0 {_n(HIGH * n / parts)}H{_n(WIDE)}" for n in range(parts + 1))
    return f'<path class="rule" d="{lines}"/>'


def _shade(value: float, most: float) -> str:
    """Return an opacity that lets one in a hundred be seen."""
    return f"{0.12 + 0.88 * math.sqrt(value / most):.2f}" if most > 0 else "0"


def _percent(value: float, most: float) -> str:
    return f"{min(100.0, max(0.4, 100 * value / most)) if most > 0 and value > 0 else 0:.2f}%"


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
