"""Workflows in files: TOML by the standard library, YAML with the extra `sedano[yaml]`. Every fault is told with its line."""

from __future__ import annotations

import importlib
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from sedano.errors import ConfigurationError, WorkflowInvalid
from sedano.model.workflow.reading import Path, read
from sedano.workflow.enlisting import Publishes
from sedano.workflow.flow import Flow

Lines = Mapping[Path, int]
_HEADER = re.compile(r"\s*\[\[?\s*([\w.\"' -]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*([\w.\"'-]+(?:\s*\.\s*[\w\"'-]+)*)\s*=")
_QUOTES = ('"""', "'" * 3)


def load(app: Publishes, path: str | FilePath) -> Flow:
    """Return the workflow that the file at *path* declares (`.toml`, `.yaml` or `.yml`), bound to *app*.

    Raises:
        WorkflowInvalid: it cannot run; every reason is told, with file, line and step.
        ConfigurationError: there is no such file, or what reads it is not installed.
    """
    file = FilePath(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as wrong:
        raise ConfigurationError(f"{file}: the workflow cannot be read: {wrong}") from None
    if file.suffix == ".toml":
        data, lines = _toml(file, text)
    elif file.suffix in (".yaml", ".yml"):
        data, lines = _yaml(file, text)
    else:
        raise ConfigurationError(f"{file}: a workflow is a .toml, .yaml or .yml file")
    definition, problems = read(data)
    return Flow(app, definition, problems, lambda path: (str(file), _line(lines, path)))


def _line(lines: Lines, path: Path) -> int:
    """Return the line of what stands at *path*, or of what it is in."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def _toml(file: FilePath, text: str) -> tuple[dict[str, Any], Lines]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as wrong:
        found = re.search(r"\(at line (\d+), column \d+\)", str(wrong))
        line, said = (found[1], str(wrong).replace(f" {found[0]}", "")) if found else (text.count("\n") + 1, str(wrong))
        raise WorkflowInvalid(file.stem, [f"{file}:{line}: not TOML: {said}"]) from None
    return data, toml_lines(text)


def toml_lines(text: str) -> dict[Path, int]:
    """Return the lines at which the tables and keys of a valid TOML *text* stand, which `tomllib` does not tell."""
    lines: dict[Path, int] = {}
    here: Path = ()
    counts: dict[Path, int] = {}
    open_quote = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not open_quote:
            header, key = _HEADER.match(line), _KEY.match(line)
            if header:
                here = _opened(_names(header[1]), line.lstrip().startswith("[["), counts)
                lines.setdefault(here, number)
            elif key:
                lines.setdefault((*here, *_names(key[1])), number)
        open_quote = _quote_after(line, open_quote)
    return lines


def _opened(names: Path, is_item: bool, counts: dict[Path, int]) -> Path:
    """Return the path of the table that a header opens; a table of an array counts."""
    path: Path = ()
    for at, name in enumerate(names):
        path = (*path, name)
        last = at == len(names) - 1
        if last and is_item:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def _names(dotted: str) -> Path:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def _quote_after(line: str, open_quote: str) -> str:
    """Return which multi-line text is open after *line*; none is the empty text."""
    at = 0
    while True:
        found = [(line.find(q, at), q) for q in ([open_quote] if open_quote else _QUOTES)]
        found = [f for f in found if f[0] >= 0]
        if not found:
            return open_quote
        at, quote = min(found)
        at += 3
        open_quote = "" if open_quote else quote


def _yaml(file: FilePath, text: str) -> tuple[dict[str, Any], Lines]:
    try:
        reader = importlib.import_module("sedano.workflow.yaml_reader")
    except ModuleNotFoundError as missing:
        raise ConfigurationError(f"{file}: YAML needs PyYAML, which is not installed: pip install 'sedano[yaml]' ({missing})") from None
    data, lines, wrong = reader.parse(text)
    if wrong:
        raise WorkflowInvalid(file.stem, [f"{file}:{line}: not YAML: {said}" for line, said in wrong])
    return data, lines
