"""Drawing, loaded by whoever draws: no worker does."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from sedano.model.workflow.definition import Definition


def as_mermaid(definition: Definition, states: Mapping[str, str]) -> str:
    """Return the graph of *definition* in Mermaid's language, with the *states* of its steps by name."""
    return str(importlib.import_module("sedano.model.workflow.mermaid").mermaid(definition, states))


def as_svg(definition: Definition, states: Mapping[str, str], note: str = "") -> str:
    """Return the graph of *definition* as an SVG picture, with the *states* of its steps by name and a *note* beside the title."""
    return str(importlib.import_module("sedano.model.workflow.svg").svg(definition, states, note))
