"""Finds the settings of a deployment: options, then the environment, then `[tool.sedano]` of the nearest `pyproject.toml`.

    [tool.sedano]
    app = "shop.tasks:app"
    code = "src"

    [tool.sedano.stage.prod]
    region = "eu-central-1"
    memory = 1024
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sedano.errors import UsageError

FILE = "pyproject.toml"
#: What `[tool.sedano]` says of a deployment beside its stages.
_OF_ALL = ("app", "code", "requirements")
_PATHS = ("code", "requirements")


class Project(NamedTuple):
    """The folder of a project, and `[tool.sedano]` of its `pyproject.toml`."""

    root: Path
    said: Mapping[str, Any]


def project(directory: Path) -> Project:
    """Return the project that *directory* belongs to: the nearest folder upwards whose `pyproject.toml` has `[tool.sedano]`, or itself.

    Raises:
        UsageError: a `pyproject.toml` cannot be read.
    """
    for folder in (directory, *directory.parents):
        file = folder / FILE
        if file.is_file():
            said = _table(file)
            if said is not None:
                return Project(folder, said)
    return Project(directory, {})


def _table(file: Path) -> Mapping[str, Any] | None:
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("sedano")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: {error}; correct that file") from error
    if found is not None and not isinstance(found, dict):
        raise UsageError(f"{file}: tool.sedano has to be a table, [tool.sedano]")
    return found


def stage_of(given: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the name of the stage: as *given*, else `SEDANO_STAGE`, else `dev`."""
    return given or environment.get("SEDANO_STAGE", "") or "dev"


def context(found: Project, stage: str, given: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the settings of *stage* as the constructs read them: name and text.

    Args:
        found: the project.
        stage: the stage's name.
        given: options, which win; their paths are relative to the working directory.
        environment: `SEDANO_APP` and `SEDANO_CODE` win over the file.

    Raises:
        UsageError: no app is named, or a value of the file has no form as a setting.
    """
    stages = found.said.get("stage", {})
    own = stages.get(stage, {}) if isinstance(stages, dict) else {}
    if not isinstance(own, dict):
        raise UsageError(f"{FILE}: tool.sedano.stage.{stage} has to be a table, [tool.sedano.stage.{stage}]")
    file = {**{name: found.said[name] for name in _OF_ALL if name in found.said}, **own}
    settings = {name: _absolute(name, _text(name, value), found.root) for name, value in file.items()}
    named = {"app": environment.get("SEDANO_APP", ""), "code": environment.get("SEDANO_CODE", ""), **given}
    settings |= {name: _absolute(name, text, Path.cwd()) for name, text in named.items() if text}
    if not settings.get("app"):
        raise UsageError(f'which app? Give --app module:attribute, or write app = "module:attribute" below [tool.sedano] in {FILE}')
    settings.setdefault("code", str(_code(found.root, settings["app"])))
    pins = found.root / "requirements.txt"
    if not (Path(settings["code"]) / pins.name).is_file() and pins.is_file():
        settings.setdefault("requirements", str(pins))
    return {**settings, "stage": stage}


def _absolute(name: str, text: str, beside: Path) -> str:
    return str((beside / text).resolve()) if name in _PATHS else text


def _code(root: Path, app: str) -> Path:
    """Return the folder of the app's modules: `src` of the project where it has the module, else the project's own folder."""
    top = app.partition(":")[0].partition(".")[0]
    source = root / "src"
    return source if (source / top).is_dir() or (source / f"{top}.py").is_file() else root


def _text(name: str, value: Any) -> str:
    """Return a value of TOML as the command line has it: `true`, `1024`, `mail=2,bulk=50`."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, dict) and not any(isinstance(one, dict | list) for one in value.values()):
        return ",".join(f"{key}={_text(name, one)}" for key, one in value.items())
    raise UsageError(f"{FILE}: {name} has to be a text, a number, true, false, or a table of those")
