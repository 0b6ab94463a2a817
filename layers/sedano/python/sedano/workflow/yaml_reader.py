"""YAML with line numbers, by PyYAML's safe loader: plain data, no custom tags, no objects.

A short text can describe a large value: an alias repeats everything at its anchor, and aliases nest. So the parts are counted, each alias
with everything that it repeats, before values are made, and the length of numbers and moments is limited.
"""

from __future__ import annotations

from typing import Any

import yaml  # type: ignore[import-untyped] # its stubs are not part of the environment

from sedano.model.workflow.definition_reader import Path

Fault = tuple[int, str]
MOST_PARTS = 20_000
"""The most values and keys of a document, each alias counted with everything that it repeats."""
LONGEST_PLAIN = 100
"""The most characters of a number or a moment: reading a longer one takes quadratic time."""
_TEXT = "tag:yaml.org,2002:str"


class _TooMuch(ValueError):
    """A document exceeds a limit at *line*."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def parse(text: str) -> tuple[Any, dict[Path, int], list[Fault]]:
    """Return the data of a YAML *text*, the lines of its parts, and its faults: wrong syntax, keys given twice."""
    lines: dict[Path, int] = {}
    faults: list[Fault] = []
    try:
        loader = yaml.SafeLoader(text)
    except yaml.YAMLError as wrong:
        return {}, lines, [(1, str(wrong))]
    try:
        node = loader.get_single_node()
        if node is not None:
            _locate(node, (), lines, faults)
        data = loader.construct_document(node) if node is not None else {}
    except yaml.MarkedYAMLError as wrong:
        line = wrong.problem_mark.line + 1 if wrong.problem_mark is not None else 1
        return {}, lines, [*faults, (line, str(wrong.problem))]
    except _TooMuch as wrong:
        return {}, lines, [*faults, (wrong.line, str(wrong))]
    except (yaml.YAMLError, ValueError, ArithmeticError, RecursionError) as wrong:
        return {}, lines, [*faults, (1, str(wrong) or type(wrong).__name__)]
    finally:
        loader.dispose()
    if not isinstance(data, dict):
        return {}, lines, [*faults, (1, "expected keys and values")]
    return data, lines, faults


def _locate(node: yaml.Node, path: Path, lines: dict[Path, int], faults: list[Fault]) -> None:
    line = node.start_mark.line + 1
    lines.setdefault(path, line)
    if len(lines) > MOST_PARTS:
        raise _TooMuch(line, f"more than {MOST_PARTS} values, each alias counted with everything that it repeats")
    if isinstance(node, yaml.ScalarNode) and node.tag != _TEXT and len(node.value) > LONGEST_PLAIN:
        raise _TooMuch(line, f"a number or a moment of more than {LONGEST_PLAIN} characters")
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for key, value in node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else "(a key that is not a text)"
            if name in seen:
                faults.append((key.start_mark.line + 1, f"the key {name!r} is given twice"))
            seen.add(name)
            lines[*path, name] = key.start_mark.line + 1
            _locate(value, (*path, name), lines, faults)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            _locate(value, (*path, number), lines, faults)
