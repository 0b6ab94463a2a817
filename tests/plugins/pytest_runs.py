"""`elsewhere`: pytest in a folder of its own, which has nothing of this repository but the library, known by its entry points."""

import os
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "layers/sedano/python"


class Elsewhere(NamedTuple):
    """A *folder* with a program and its tests, and the *path* of its imports."""

    folder: Path
    path: str

    def write(self, files: Mapping[str, str]) -> None:
        """Write *files* by their paths in the folder."""
        for name, text in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text, encoding="utf-8")

    def run(self, *arguments: str) -> tuple[int, str]:
        """Run pytest there; return its exit code and what it said. Without `-S` this environment would bring the whole repository."""
        command = [sys.executable, "-S", "-P", "-m", "pytest", "-q", *arguments]
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": self.path, "COLUMNS": "300"}
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def elsewhere(tmp_path: Path) -> Elsewhere:
    """An empty folder in whose environment the library is installed with the entry points of its wheel."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    installed = tmp_path / "installed"
    groups = "\n".join(f"[{group}]\n" + "\n".join(f"{name} = {value}" for name, value in of.items()) for group, of in declared.items())
    made = Elsewhere(tmp_path / "folder", os.pathsep.join([str(installed), str(LIBRARY), sysconfig.get_paths()["purelib"]]))
    made.write({
        "../installed/sedano-0.1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: sedano\nVersion: 0.1.0\n",
        "../installed/sedano-0.1.0.dist-info/entry_points.txt": groups + "\n",
    })  # fmt: skip
    return made
