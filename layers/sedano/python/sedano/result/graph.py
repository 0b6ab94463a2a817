"""The tasks of a canvas and which waits for which, as edges and as a Mermaid drawing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sedano.model import states
from sedano.result.result_tree import before, is_set
from sedano.result.waits import ResultOutlet, read

MOST_DRAWN = 50
"""The most members of a group that are drawn one by one."""
CLASSES: Mapping[str, str] = {state: row.style for state, row in states.ROWS.items() if row.style}
STYLES = ("classDef done fill:#d4edda", "classDef failed fill:#f8d7da", "classDef running fill:#fff3cd")


@dataclass
class Graph:
    """*nodes*: each task's id with its name (a large group is one node); *edges*: the id that is waited for, and the id that waits."""

    outlet: ResultOutlet
    nodes: dict[str, str] = field(default_factory=dict)
    edges: list[tuple[str, str]] = field(default_factory=list)

    def states(self) -> dict[str, str]:
        """Return the state of each node now, as the ledger knows it; a large group has none."""
        found = read(self.outlet, list(self.nodes))
        return {task_id: record.state for task_id, record in found.items()}

    def to_mermaid(self, live: bool = False) -> str:
        """Return the drawing in Mermaid's language; *live*: with the state of each task now (reads a hundred to a call)."""
        number = {task_id: f"t{n}" for n, task_id in enumerate(self.nodes)}
        said = self.states() if live else {}
        boxes = ((number[one], _label(name, said.get(one)), _class(said.get(one))) for one, name in self.nodes.items())
        lines = ["graph LR", *(f'  {box}["{label}"]{style}' for box, label, style in boxes)]
        lines += [f"  {number[first]} --> {number[then]}" for first, then in self.edges]
        return "\n".join([*lines, *(f"  {style}" for style in STYLES)] if live else lines)


def graph_of(result: Any) -> Graph:
    """Return the graph around *result*: its parents, its members and its children."""
    graph = Graph(result.outlet)
    for one in _reached(result):
        if not is_set(one) or _is_large(one):
            key = _key(one)
            graph.nodes[key] = f"{len(one)} tasks" if is_set(one) else one.name or one.id[:8]
            graph.edges += [(first, key) for first in (_exits(one.parent) if one.parent is not None else ())]
    return graph


def _reached(result: Any) -> Iterator[Any]:
    """Yield every result of the canvas of *result*, each once."""
    seen: set[str] = set()
    waiting = [*before(result), result]
    while waiting:
        one = waiting.pop(0)
        if (key := _key(one)) in seen:
            continue
        seen.add(key)
        yield one
        if is_set(one) and not _is_large(one):
            waiting += [inner for member in one.members() for inner in (*before(member), member)]
        waiting += one.followers


def _exits(result: Any) -> list[str]:
    """Return the keys of the nodes that have to end before what follows *result*."""
    if is_set(result) and not _is_large(result):
        return [key for member in result.members() for key in _exits(member)]
    return [_key(result)]


def _is_large(result: Any) -> bool:
    return len(result) > MOST_DRAWN


def _key(result: Any) -> str:
    return f"group {result.id or id(result)}" if is_set(result) else str(result.id)


def _label(name: str, state: str | None) -> str:
    shown = name.replace('"', "#quot;")
    return f"{shown}<br/>{state}" if state else shown


def _class(state: str | None) -> str:
    return f":::{CLASSES[state]}" if state is not None and state in CLASSES else ""
