"""YAML with the line of everything, by PyYAML's safe loader: plain data, no tags of its own, no object is ever made."""

from __future__ import annotations

from typing import Any

import yaml  # type: ignore[import-untyped] # its stubs are no part of the environment

from sedano.model.workflow.reading import Path

Fault = tuple[int, str]


def parse(text: str) -> tuple[Any, dict[Path, int], list[Fault]]:
    """Return the data of a YAML *text*, the lines of its parts, and what is wrong with it: faults of syntax, keys that stand twice."""
    loader = yaml.SafeLoader(text)
    lines: dict[Path, int] = {}
    faults: list[Fault] = []
    try:
        node = loader.get_single_node()
        if node is not None:
            _locate(node, (), lines, faults)
        data = loader.construct_document(node) if node is not None else {}
    except yaml.MarkedYAMLError as wrong:
        line = wrong.problem_mark.line + 1 if wrong.problem_mark is not None else 1
        return {}, lines, [*faults, (line, str(wrong.problem))]
    except (yaml.YAMLError, ValueError, RecursionError) as wrong:
        return {}, lines, [*faults, (1, str(wrong) or type(wrong).__name__)]
    finally:
        loader.dispose()
    if not isinstance(data, dict):
        faults.append((1, "expected keys and values"))
    return data, lines, faults


def _locate(node: yaml.Node, path: Path, lines: dict[Path, int], faults: list[Fault]) -> None:
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for key, value in node.value:
            name = str(key.value)
            if name in seen:
                faults.append((key.start_mark.line + 1, f"the key {name!r} stands twice"))
            seen.add(name)
            lines[*path, name] = key.start_mark.line + 1
            _locate(value, (*path, name), lines, faults)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            _locate(value, (*path, number), lines, faults)
