"""The settings of a stage as the constructs read them: names and texts, from the settings of a project and those of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sedano.errors import UsageError
from sedano.model.settings import DEPLOYMENT

_PINS = "requirements.txt"


def context(values: Mapping[str, Any], app: str | None, code: Path, root: Path, given: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a stage for the constructs.

    Args:
        values: the settings of the project by name, those of the stage among them.
        app: module:attribute.
        code: the directory of its modules.
        root: the project's folder. Its `requirements.txt` has the pins of a code directory without such a file.
        given: settings of the command line, which take precedence; their paths are relative to the working directory.

    Raises:
        UsageError: no app is named, a setting is given twice, or a value of the project cannot be written as a setting.
    """
    if not app:
        raise UsageError('which app? Give --app module:attribute, or write app = "module:attribute" below [tool.sedano] in pyproject.toml')
    for name in ("app", "code", "stage"):
        if name in given:
            raise UsageError(f"--set {name}: use the option --{name}")
    found = {name: _text(name, values[name]) for name in DEPLOYMENT if values.get(name) is not None}
    if "account" in found and values.get("region"):  # a stage with an account of its own has a Region of its own
        found["region"] = str(values["region"])
    if pins := _pins(values.get("requirements"), code, root):
        found["requirements"] = str(pins)
    if values.get("ignore"):
        found["ignore"] = ",".join(values["ignore"])
    own = {name: str(Path(text).resolve()) if name == "requirements" else text for name, text in given.items()}
    return {**found, **own, "app": app, "code": str(code.resolve()), "stage": str(values["stage"])}


def _pins(named: str | None, code: Path, root: Path) -> Path | None:
    """Return the file of the app's pins if the constructs would not find it: the *named* one, or that of the project."""
    if named:
        return (root / named).resolve()
    return (root / _PINS).resolve() if (root / _PINS).is_file() and not (code / _PINS).is_file() else None


def _text(name: str, value: Any) -> str:
    """Return a value of TOML as the command line has it: `true`, `1024`, `mail=2,bulk=50`."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, Mapping) and not any(isinstance(one, Mapping | list) for one in value.values()):
        return ",".join(f"{key}={_text(name, one)}" for key, one in value.items())
    raise UsageError(f"pyproject.toml: {name} has to be a text, a number, true, false, or a table of those")
