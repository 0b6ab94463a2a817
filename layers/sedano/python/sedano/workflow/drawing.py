"""Drawing; loaded at its first use, and by no worker."""

from __future__ import annotations

from collections.abc import Mapping

from sedano.model.workflow.definition import Definition

Calls = Mapping[str, tuple[int, int, int]]


def as_mermaid(definition: Definition, states: Mapping[str, str], calls: Calls) -> str:
    """Return the graph of *definition* in Mermaid's language; *states* and *calls*: of its steps, by name, see `as_svg`."""
    from sedano.model.workflow.mermaid import mermaid

    return mermaid(definition, states, calls)


def as_svg(definition: Definition, states: Mapping[str, str], calls: Calls, note: str = "") -> str:
    """Return the graph of *definition* as an SVG picture, with a *note* beside the title.

    *states* are the states of its steps by name; *calls* has for each `map` how many calls succeeded, how many failed, and how many there
    are.
    """
    from sedano.model.workflow.svg import svg

    return svg(definition, states, note, calls)
