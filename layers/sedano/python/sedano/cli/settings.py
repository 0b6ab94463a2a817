"""Reads the settings of the command line: its options, the variables of the environment, and the nearest pyproject.toml."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from sedano.errors import UsageError
from sedano.model.settings import DEFAULT, Project, Value, project, resolved, secrets

FILE = "pyproject.toml"


class Settings(NamedTuple):
    """Every setting with its source, and the *folder* of the pyproject.toml; the working directory where no file has the table.

    *secrets* are those of webhooks, for `sedano dev`.
    """

    values: Mapping[str, Value]
    folder: Path
    secrets: Mapping[str, tuple[str, ...]] = MappingProxyType({})

    @property
    def app(self) -> str | None:
        """The app as module:attribute; None when no source names one."""
        return None if (found := self.values["app"].value) is None else str(found)

    @property
    def code(self) -> Path:
        """The directory of the app's modules."""
        found = self.values["code"]
        if found.value is None:
            return _code(self.folder, self.app or "")
        return (self.folder if found.source.startswith("[") else Path()) / str(found.value)

    @property
    def stage(self) -> str:
        """The name of the stage."""
        return str(self.values["stage"].value)


def read(options: Mapping[str, str | None], directory: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings for a command with these *options* that is called in *directory*.

    Raises:
        UsageError: a source has an unknown setting, or an invalid value.
    """
    file, found = _nearest(directory)
    values = resolved(options, environment, found, file.name if file is not None else FILE)
    return Settings(values, file.parent if file is not None else directory, secrets(found))


def apply(settings: Settings, environment: MutableMapping[str, str] = os.environ) -> Callable[[], None]:
    """Set the variables by which AWS clients and the app find the stage, its region and its credentials.

    Returns:
        a function that undoes this, for a program that runs several verbs.

    Raises:
        UsageError: the option `--stage` names another stage than the one that the other variables of this shell belong to.
    """
    stage, there = settings.values["stage"], environment.get("SEDANO_STAGE", "")
    if environment.get("SEDANO_LEDGER_TABLE") and there and there != stage.value:
        instead = f"unset them, or set those of {stage.value}"
        raise UsageError(f"--stage: the SEDANO_* variables of this shell belong to the stage {there}; {instead}")
    wanted = {"SEDANO_STAGE": settings.stage} if stage.source != DEFAULT else {}
    for name, variables in (("region", ("AWS_REGION", "AWS_DEFAULT_REGION")), ("profile", ("AWS_PROFILE",))):
        if settings.values[name].value:
            wanted |= dict.fromkeys(variables, str(settings.values[name].value))
    before = {name: environment.get(name) for name in wanted}
    environment.update(wanted)

    def undo() -> None:
        for name, value in before.items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = value

    return undo


def _nearest(directory: Path) -> tuple[Path | None, Project]:
    """Return the nearest pyproject.toml, here or above, that has the table, with its settings."""
    for folder in (directory, *directory.parents):
        file = folder / FILE
        table = _table(file) if file.is_file() else None
        if table is not None:
            return file, project(table, str(file))
    return None, Project()


def _table(file: Path) -> Mapping[str, object] | None:
    try:
        tool = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {})
    except (OSError, ValueError) as wrong:
        raise UsageError(f"{file}: {wrong}; correct the file") from None
    table = tool.get("sedano") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise UsageError(f"{file}: tool.sedano is not a table; write [tool.sedano]")
    return table


def _code(folder: Path, app: str) -> Path:
    """Return the default directory of the modules: ``src`` where it has the module of the app, else the project's own folder."""
    top = app.partition(":")[0].partition(".")[0]
    source = folder / "src"
    return source if top and ((source / top).is_dir() or (source / f"{top}.py").is_file()) else folder
