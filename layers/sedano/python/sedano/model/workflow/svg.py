"""A workflow as a self-contained SVG picture, without scripts, fonts and external addresses, for light and dark backgrounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from types import MappingProxyType

from sedano.model.workflow.colours import COLOURS
from sedano.model.workflow.conditions import condition_text
from sedano.model.workflow.definition import Definition, StepSpec
from sedano.model.workflow.layout import Layout, layout

MARGIN, HEAD, BETWEEN, LINE = 28.0, 56.0, 54.0, 16.0
PAD = 14.0
COLUMNS, COLUMN, ROW = 4, 150.0, 22.0
LONGEST = 44
BAR = 5.0
Calls = Mapping[str, tuple[int, int, int]]
"""For each `map`, by the step's name: the number of calls that succeeded, that ended otherwise, and the total."""
NO_CALLS: Calls = MappingProxyType({})
_STYLE = """
text{font:400 12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:#5b6475}
.t{font-size:17px;font-weight:650;fill:#1f2430}.n{font-size:13.5px;font-weight:650;fill:#1f2430}.s{font-size:11px}
.c{font-size:11px;font-style:italic}.e{fill:none;stroke:#9aa3b2;stroke-width:1.6}.a{stroke-dasharray:5 4}.h{fill:#9aa3b2}
.p{fill:#d5d9e1}.p.SUCCEEDED{fill:#2a9d57}.p.FAILED{fill:#d33a32}
.g{fill:#ffffff}.b{stroke-width:1.6}.SKIPPED.b{stroke-dasharray:4 3}.NONE{fill:#ffffff;stroke:#8b95a7}
@media(prefers-color-scheme:dark){text{fill:#aab3c5}.t,.n{fill:#f2f4f8}.g{fill:#14171e}.e{stroke:#5d6779}.h{fill:#5d6779}.NONE{fill:#1c2029}}
"""


_ARROW = (
    '<defs><marker id="h" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path class="h" d="M0 0L8 4L0 8z"/></marker></defs>'
)
_GROUND = '<rect class="g" width="100%" height="100%"/>'


def lines(step: StepSpec, calls: Calls = NO_CALLS) -> list[str]:
    """Return the lines in a step's box: its name, its task, its conditions and options, and the progress of a `map` that has begun."""
    name = f"{step.name} × each" if step.each is not None else step.name
    told = [name, step.call.task]
    if step.each is not None:
        told.append(f"of {step.each}")
    if step.name in calls:
        done, failed, size = calls[step.name]
        told.append(f"{done} of {size} done" + (f", {failed} failed" if failed else ""))
    told += [f"when {condition_text(condition)}" for condition in step.when]
    if step.compensation is not None:
        told.append(f"↩ {step.compensation.task}")
    return [line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…" for line in told]


def only_after(step: StepSpec) -> set[str]:
    """Return the steps that *step* only follows, without using their values."""
    return set(step.after) - {ref.name for ref in step.takes()}


def svg(definition: Definition, states: Mapping[str, str], note: str = "", calls: Calls = NO_CALLS) -> str:
    """Return the picture of *definition*; *note* follows the title.

    For a run, *states* has the states of steps by name, and *calls* the progress of each `map`.
    """
    return _Picture(definition, states, note, calls).text()


class _Picture:
    """One picture while it is drawn: the text, the size and the position of each box."""

    def __init__(self, definition: Definition, states: Mapping[str, str], note: str, calls: Calls) -> None:
        self.definition, self.states, self.calls = definition, states, calls
        self.title = f"{definition.name} · version {definition.version}" + (f" · {note}" if note else "")
        self.said = {s.name: lines(s, calls) for s in definition.steps}
        self.widths = {name: max(_breadth(line, n == 0) for n, line in enumerate(told)) + 2 * PAD for name, told in self.said.items()}
        self.found: Layout = layout(definition.needs(), self.widths)
        self.heights = {name: PAD + LINE * len(told) + 6 + 2 * BAR * (name in calls) for name, told in self.said.items()}
        layers = [max(self.heights[name] for name in layer) for layer in self.found.layers]
        self.tops = [MARGIN + HEAD + sum(layers[:n]) + BETWEEN * n for n in range(len(layers))]
        self.depth = {name: n for n, layer in enumerate(self.found.layers) for name in layer}
        self.layers = layers
        self.legend = [state for state in COLOURS if state in states.values()]
        self.bottom = self.tops[-1] + layers[-1] if layers else MARGIN + HEAD

    def text(self) -> str:
        rows = -(-len(self.legend) // COLUMNS)
        broad = [self.found.centres[name] + width / 2 for name, width in self.widths.items()]
        width = max([*broad, len(self.title) * 9.2, COLUMN * min(len(self.legend), COLUMNS)]) + 2 * MARGIN
        height = self.bottom + MARGIN + (ROW * rows + 16 if rows else 0)
        size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><title>{_text(self.title)}</title>'
        title = f'<text class="t" x="{MARGIN:.0f}" y="{MARGIN + 14:.0f}">{_text(self.title)}</text>'
        boxes = (self._box(step) for step in self.definition.steps)
        style = f"<style>{_STYLE}{_colours()}</style>"
        return "\n".join([head, style, _ARROW, _GROUND, title, *self._edges(), *boxes, *self._legend(), "</svg>\n"])

    def _edges(self) -> Iterator[str]:
        for name, before in self.definition.needs().items():
            loose = only_after(self.definition.step(name))
            for source in before:
                kind = "e a" if source in loose else "e"
                yield f'<path class="{kind}" marker-end="url(#h)" d="{self._path(source, name)}"/>'

    def _path(self, source: str, name: str) -> str:
        """Return the path of one edge: from the bottom of a box, straight through the layers between, to the top of another."""
        first, last = self.depth[source], self.depth[name]
        points = [(self.found.centres[source], self.tops[first] + self.heights[source])]
        for layer, place in enumerate(self.found.bends[source, name], first + 1):
            points += [(place, self.tops[layer]), (place, self.tops[layer] + self.layers[layer])]
        lift = 7.0 if self.definition.step(name).each is not None else 1.0
        points.append((self.found.centres[name], self.tops[last] - lift))
        path = f"M{points[0][0] + MARGIN:.1f} {points[0][1]:.1f}"
        for number, ((x, y), (to_x, to_y)) in enumerate(pairwise(points)):
            middle = (y + to_y) / 2
            straight = number % 2 == 1
            path += (
                f"L{to_x + MARGIN:.1f} {to_y:.1f}"
                if straight
                else (f"C{x + MARGIN:.1f} {middle:.1f} {to_x + MARGIN:.1f} {middle:.1f} {to_x + MARGIN:.1f} {to_y:.1f}")
            )
        return path

    def _box(self, step: StepSpec) -> str:
        width, height = self.widths[step.name], self.heights[step.name]
        left, top = self.found.centres[step.name] - width / 2 + MARGIN, self.tops[self.depth[step.name]]
        state = self.states.get(step.name, "")
        kind = f"b {state or 'NONE'}"
        behind = [
            f'<rect class="{kind}" x="{left + d:.1f}" y="{top - d:.1f}" width="{width:.1f}" height="{height:.1f}" rx="9"/>' for d in (6, 3)
        ]
        rows = [
            f'<text class="{"n" if n == 0 else "c" if line.startswith("when ") else "s"}" x="{left + PAD:.1f}" '
            f'y="{top + PAD + 7 + LINE * n:.1f}">{_text(line)}</text>'
            for n, line in enumerate(self.said[step.name])
        ]
        hint = f"<title>{_text(step.name)}{f': {state}' if state else ''}</title>"
        box = f'<rect class="{kind}" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" rx="9"/>'
        bar = self._bar(left + PAD, top + height - 2 * BAR - 3, width - 2 * PAD, self.calls[step.name]) if step.name in self.calls else ()
        return "".join(["<g>", hint, *(behind if step.each is not None else []), box, *rows, *bar, "</g>"])

    def _bar(self, left: float, top: float, width: float, calls: tuple[int, int, int]) -> Iterator[str]:
        """Yield the progress of a `map` as a bar: the successful calls from the left, the failed ones beside them."""
        done, failed, size = calls
        for kind, begin, count in (("p", 0, size), ("p SUCCEEDED", 0, done), ("p FAILED", done, failed)):
            if size and count:
                at, long = left + width * begin / size, width * count / size
                yield f'<rect class="{kind}" x="{at:.1f}" y="{top:.1f}" width="{long:.1f}" height="{BAR:.0f}"/>'

    def _legend(self) -> Iterator[str]:
        for number, state in enumerate(self.legend):
            x, y = MARGIN + COLUMN * (number % COLUMNS), self.bottom + 34 + ROW * (number // COLUMNS)
            word = state.lower().replace("_", " ")
            yield f'<rect class="b {state}" x="{x:.0f}" y="{y - 10:.0f}" width="16" height="11" rx="3"/>'
            yield f'<text class="s" x="{x + 23:.0f}" y="{y:.0f}">{word}</text>'


def _colours() -> str:
    light = "".join(f".{state}{{fill:{c.fill};stroke:{c.line}}}" for state, c in COLOURS.items())
    dark = "".join(f".{state}{{fill:{c.dark}}}" for state, c in COLOURS.items())
    return f"{light}@media(prefers-color-scheme:dark){{{dark}}}"


def _breadth(line: str, bold: bool) -> float:
    """Return the approximate width of *line*, in the font of a name (*bold*) or of the text below it."""
    return sum(13.0 if ord(c) > 0x2E7F else 8.2 if bold else 6.6 for c in line)


def _text(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
