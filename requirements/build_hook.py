"""Puts the packages of the library's layer into the wheel and the sdist, as one archive, so that a deployment downloads none of them.

Hatchling runs it for both packages (pyproject.toml). In a clone the archive is made once from `requirements/layer.txt` by pip, with hashes;
an sdist has it already. If the build has no pip, as an isolated one, the package does not contain it, and deployments use pip.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NAME = "layer.zip"
IN_THE_WHEEL = f"sedano/cdk/deployed/{NAME}"
PINS = "requirements/layer.txt"


def archive(root: Path) -> Path | None:
    """Return the archive of the packages for the tree *root*; None if it does not exist and pip is missing."""
    carried = root / NAME
    if carried.is_file():
        return carried
    made = root / "build" / f"layer-{hashlib.sha256((root / PINS).read_bytes()).hexdigest()[:16]}.zip"
    if made.is_file():
        return made
    return make(root, made) if importlib.util.find_spec("pip") else None


def make(root: Path, target: Path) -> Path:
    """Install the pinned packages of *root*, and archive the files for a layer; two processes write the same bytes."""
    sys.path.insert(0, str(root))
    from infra import assets

    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        packages, filling = Path(scratch) / "packages", Path(scratch) / NAME
        assets.install(root / PINS, packages)
        assets.archive(packages, filling)
        filling.replace(target)
    return target


class LayerHook(BuildHookInterface[Any]):
    """Adds the archive to the packages that hatchling builds."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add it, except to an editable installation, which uses the tree."""
        if version == "editable":
            return
        found = archive(Path(self.root))
        if found is None:
            self.app.display_warning("no pip in this environment: the package lacks the library's layer; deployments will use pip")
            return
        build_data["force_include"][str(found)] = IN_THE_WHEEL if self.target_name == "wheel" else NAME
