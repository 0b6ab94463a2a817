"""The files of a new project, from the templates beside this module.

A template is a folder below `templates`. Its files replace those of `templates/every` that have the same path. In the text of a file,
`$name` is the name of the project and `$package` that of its Python package; in a path, `PACKAGE` is the package and `dot-` a leading dot.
Each file has the suffix `.tmpl`, so that no tool takes it for a module or a setting of this repository.
"""

from __future__ import annotations

import keyword
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib.resources import files as resources
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template

from sedano.errors import FolderExists, UsageError

TEMPLATES = {
    "minimal": "one task and its test",
    "events": "a webhook, an event and a schedule",
    "fastapi": "a FastAPI program that publishes tasks",
    "django": "a Django project whose tasks use its models",
}
"""The templates of a project, each with a short description."""
LONGEST_NAME = 40
_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*", re.ASCII)
_IMPORTED = frozenset({"boto3", "botocore", "django", "fastapi", "mypy", "pytest", "ruff", "sedano", "test", "tests"})
"""Modules that a project imports or contains: a package of the same name would hide them."""


def files(name: str, template: str = "minimal") -> dict[str, str]:
    """Return the files of a new project: the text of each by its path from the project's folder, in order.

    Args:
        name: the name of the project, such as `shop`.
        template: one of `TEMPLATES`.

    Raises:
        UsageError: the name is not valid for a project and a Python package, or the template does not exist.
    """
    if template not in TEMPLATES:
        raise UsageError(f"--template: {template!r} is not a template; choose one of {', '.join(TEMPLATES)}")
    words = {"name": name, "package": package(name)}
    root = resources("sedano") / "cli" / "templates"
    found = {path: one for folder in ("every", template) for path, one in _walk(root / folder)}
    made = {_target(path, words["package"]): Template(one.read_text(encoding="utf-8")).substitute(words) for path, one in found.items()}
    return dict(sorted(made.items()))


def package(name: str) -> str:
    """Return the name of the Python package of the project *name*: `my_shop` for `my-shop`.

    Raises:
        UsageError: the name cannot be used; the message says why.
    """
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise UsageError(
            f"NAME: {name!r:.80} is not 1 to {LONGEST_NAME} lower-case letters and digits that begin with a letter, with - or _ between "
            "them; write a name such as shop or my-shop"
        )
    found = name.replace("-", "_")
    if keyword.iskeyword(found) or keyword.issoftkeyword(found):
        raise UsageError(f"NAME: {name!r} is a keyword of Python and cannot be imported; choose another name, such as my-{name}")
    if found in sys.stdlib_module_names or found in _IMPORTED:
        raise UsageError(f"NAME: a package {found!r} would hide the module {found} of the project; choose another name, such as my-{name}")
    return found


def write(made: Mapping[str, str], folder: Path) -> None:
    """Write the files *made* into *folder*, which appears with all of them or not at all.

    Raises:
        FolderExists: a file or folder of that name exists; it is not changed.
    """
    if os.path.lexists(folder):
        raise FolderExists(_exists(folder))
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for path, text in made.items():
            (scratch / path).parent.mkdir(parents=True, exist_ok=True)
            (scratch / path).write_text(text, encoding="utf-8", newline="\n")
        scratch.chmod(0o755)  # mkdtemp makes a folder that only its owner may read
        scratch.rename(folder)
    except OSError as error:
        if os.path.lexists(folder):  # another program made it in the meantime
            raise FolderExists(_exists(folder)) from error
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _exists(folder: Path) -> str:
    return f"{folder} already exists and was not changed; choose another name, or remove it first"


def _walk(folder: Traversable, above: str = "") -> Iterator[tuple[str, Traversable]]:
    for one in folder.iterdir():
        if one.is_dir():
            yield from _walk(one, f"{above}{one.name}/")
        elif one.name.endswith(".tmpl"):
            yield f"{above}{one.name}", one


def _target(path: str, package: str) -> str:
    parts = path.removesuffix(".tmpl").split("/")
    return "/".join(package if part == "PACKAGE" else re.sub("^dot-", ".", part) for part in parts)
