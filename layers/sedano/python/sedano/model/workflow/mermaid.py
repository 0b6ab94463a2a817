"""A workflow in the language of Mermaid, which GitHub and many wikis render: steps as boxes, their states as colours."""

from __future__ import annotations

from collections.abc import Mapping

from sedano.model.workflow.colours import COLOURS
from sedano.model.workflow.definition import Definition
from sedano.model.workflow.svg import NO_CALLS, Calls, lines, only_after


def mermaid(definition: Definition, states: Mapping[str, str], calls: Calls = NO_CALLS) -> str:
    """Return the flowchart of *definition*; for a run, *states* has the states of steps by name, and *calls* the progress of each `map`."""
    ids = {s.name: f"s{number}" for number, s in enumerate(definition.steps)}
    written = ["flowchart TD"]
    for step in definition.steps:
        name, *rest = lines(step, calls)
        state = states.get(step.name)
        label = "<br/>".join([f"<b>{_text(name)}</b>", *(f"<small>{_text(line)}</small>" for line in rest)])
        left, right = ("[[", "]]") if step.each is not None else ("(", ")")
        written.append(f'    {ids[step.name]}{left}"{label}"{right}' + (f":::{state}" if state else ""))
    for name, before in definition.needs().items():
        loose = only_after(definition.step(name))
        written += [f"    {ids[source]} {'-.->' if source in loose else '-->'} {ids[name]}" for source in before]
    used = [state for state in COLOURS if state in states.values()]
    written += [f"    classDef {state} fill:{COLOURS[state].fill},stroke:{COLOURS[state].line},color:#1f2430" for state in used]
    return "\n".join(written) + "\n"


def _text(text: str) -> str:
    """Return *text* escaped for a Mermaid label: characters that could end the label, or be parsed as markup, are written as numbers."""
    return "".join(c if c.isalnum() or c in " _.,-:$?!=/×↩" else f"#{ord(c)};" for c in text)
