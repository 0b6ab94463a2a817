"""Reading the layers of a configuration, each in the form in which it is kept."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from sedano.errors import ConfigurationError
from sedano.model.configuration.layers import ENV, MODULE, TOML, Layer
from sedano.model.configuration.stage_values import STAGE_VALUES, stage_values
from sedano.ports import Ports


def read(layer: Layer, ports: Ports | None) -> Mapping[str, object]:
    """Return the current values of *layer*, by its own names; a remote layer is read over *ports*.

    Raises:
        ConfigurationError: a module, a file or a profile is missing or cannot be read; the message says what to write.
        Unavailable: a store did not answer.
    """
    match layer.kind:
        case "ssm" if ports is not None:
            return ports.parameters.tree(layer.where)
        case "appconfig" if ports is not None:
            return _profile(layer, ports.parameters.profile(*layer.where.split("/")))
        case "stage" if ports is not None:
            found = ports.memos.read([STAGE_VALUES]).get(STAGE_VALUES)
            return stage_values(found.text if found is not None else "")
        case "env":
            return {name[len(layer.where) :]: value for name, value in os.environ.items() if name.startswith(layer.where)}
        case "module":
            return _module(layer)
        case _:
            return _file(layer)


def _profile(layer: Layer, text: str) -> Mapping[str, object]:
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError) as wrong:
        raise ConfigurationError(f"layer {layer}: {wrong}; deploy a JSON object") from None
    if not isinstance(found, dict):
        raise ConfigurationError(f'layer {layer}: its text is not a JSON object, such as {{"pool": 10}}; deploy one')
    return found


def _module(layer: Layer) -> Mapping[str, object]:
    """Return the public names of a module, without those of modules, functions and classes."""
    try:
        found = vars(importlib.import_module(layer.where))
    except ImportError as wrong:
        raise ConfigurationError(f"layer {layer}: {wrong}; create the module, or remove the layer") from wrong
    return {name: value for name, value in found.items() if not name.startswith("_") and not (callable(value) or _is_module(value))}


def _is_module(value: object) -> bool:
    return isinstance(value, ModuleType)


def _file(layer: Layer) -> Mapping[str, object]:
    import tomllib

    file, _, table = layer.where.partition("#")
    try:
        found: object = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except FileNotFoundError:
        if layer.may_miss:
            return {}
        instead = f"create it, or write {layer}? if it may be missing"
        raise ConfigurationError(f"layer {layer}: no such file in {Path.cwd()}; {instead}") from None
    except (OSError, ValueError, RecursionError) as wrong:
        raise ConfigurationError(f"layer {layer}: {wrong}; correct the file") from wrong
    for name in filter(None, table.split(".")):
        found = found.get(name) if isinstance(found, Mapping) else None
    if isinstance(found, Mapping):
        return found
    if found is None and layer.may_miss:
        return {}
    raise ConfigurationError(f"layer {layer}: the file has no table [{table}]; write it, or correct the layer")


LOCAL = (MODULE, TOML, ENV)
"""The kinds of layers that a process reads without a deployment."""
