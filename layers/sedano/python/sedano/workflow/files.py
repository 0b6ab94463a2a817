"""Workflows in files: TOML by the standard library, YAML with the extra `sedano[yaml]`. Every fault is reported with its line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from sedano.errors import ConfigurationError, WorkflowInvalid
from sedano.model.workflow.definition_reader import Path, read
from sedano.workflow.flow import Flow
from sedano.workflow.names import WorkflowApp

Lines = Mapping[Path, int]
MOST_BYTES = 262_144
"""The longest file: a workflow of 500 steps takes less."""
MOST_DOTS = 32
"""The most dots in a key: reading a key takes quadratic time."""
MOST_DEPTH = 200
"""The deepest nesting of arrays and tables: the reader recurses, and a program may have raised Python's own limit."""
_BRACKETS = re.compile(r"[\[\]{}]")
_NAMES = re.compile(r"[\w.\"' \t-]+")
_QUOTES = ('"""', "'" * 3)


def load(app: WorkflowApp, path: str | FilePath) -> Flow:
    """Return the workflow that the file at *path* declares (`.toml`, `.yaml` or `.yml`), bound to *app*.

    Raises:
        WorkflowInvalid: it cannot run; the message lists every reason, with file, line and step.
        ConfigurationError: the file is missing, or its reader is not installed.
    """
    file = FilePath(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as wrong:
        raise ConfigurationError(f"{file}: the workflow cannot be read: {wrong}") from None
    if len(text) > MOST_BYTES:
        raise WorkflowInvalid(file.stem, [f"{file}:1: more than {MOST_BYTES} characters; put data into inputs, or split the workflow"])
    if file.suffix == ".toml":
        data, lines = _toml(file, text)
    elif file.suffix in (".yaml", ".yml"):
        data, lines = _yaml(file, text)
    else:
        raise ConfigurationError(f"{file}: a workflow is a .toml, .yaml or .yml file")
    definition, problems = read(data)
    return Flow(app, definition, problems, lambda path: (str(file), _line(lines, path)))


def _line(lines: Lines, path: Path) -> int:
    """Return the line of the value at *path*, or of the value around it."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def _toml(file: FilePath, text: str) -> tuple[dict[str, Any], Lines]:
    for names in _NAMES.finditer(text):
        if names[0].count(".") > MOST_DOTS and text[names.end() : names.end() + 1] in ("=", "]"):
            at = text.count("\n", 0, names.start()) + 1
            raise WorkflowInvalid(file.stem, [f"{file}:{at}: a key has more than {MOST_DOTS} dots; write tables instead"])
    too_deep = WorkflowInvalid(file.stem, [f"{file}:1: arrays or tables are nested too deeply; use fewer levels"])
    if _depth(text) > MOST_DEPTH:
        raise too_deep
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise too_deep from None
    except ValueError as wrong:
        found = re.search(r"\(at line (\d+), column \d+\)", str(wrong))
        line, said = (found[1], str(wrong).replace(f" {found[0]}", "")) if found else (text.count("\n") + 1, str(wrong))
        raise WorkflowInvalid(file.stem, [f"{file}:{line}: not TOML: {said}"]) from None
    return data, toml_lines(text)


def _depth(text: str) -> int:
    """Return how deeply brackets are nested in *text*, those in texts and comments included."""
    most = depth = 0
    for bracket in _BRACKETS.findall(text):
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
        most = max(most, depth)
    return most


def toml_lines(text: str) -> dict[Path, int]:
    """Return the lines of the tables and keys of a valid TOML *text*, which `tomllib` does not report."""
    lines: dict[Path, int] = {}
    here: Path = ()
    counts: dict[Path, int] = {}
    open_quote = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not open_quote:
            if header := _header(line):
                here = _opened(_names(header), line.lstrip().startswith("[["), counts)
                lines.setdefault(here, number)
            elif key := _key(line):
                lines.setdefault((*here, *_names(key)), number)
        open_quote = _quote_after(line, open_quote)
    return lines


def _header(line: str) -> str:
    """Return the name of the table that *line* opens; empty when it opens none. Looks at each character once."""
    text = line.strip()
    if not text.startswith("["):
        return ""
    text = text.partition("#")[0].rstrip()
    if not text.endswith("]"):
        return ""
    name = text[2:-2] if text.startswith("[[") and text.endswith("]]") else text[1:-1]
    return name.strip() if _NAMES.fullmatch(name) else ""


def _key(line: str) -> str:
    """Return the key that *line* gives a value to; empty when it gives none."""
    name, is_given, _ = line.partition("=")
    return name.strip() if is_given and _NAMES.fullmatch(name) else ""


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
    """Return which multi-line text is open after *line*; empty if none."""
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
        from sedano.workflow import yaml_reader
    except ModuleNotFoundError as missing:
        raise ConfigurationError(f"{file}: YAML needs PyYAML, which is not installed: pip install 'sedano[yaml]' ({missing})") from None
    data, lines, wrong = yaml_reader.parse(text)
    if wrong:
        raise WorkflowInvalid(file.stem, [f"{file}:{line}: not YAML: {said}" for line, said in wrong])
    return data, lines
