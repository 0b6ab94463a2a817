"""The Python files of a code base: which ones are read, and the module that each one is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

EXCLUDED = frozenset({
    ".eggs", ".git", ".hg", ".mypy_cache", ".nox", ".ruff_cache", ".svn", ".tox", ".venv", "__pycache__", "__pypackages__", "build", "dist",
    "migrations", "node_modules", "site-packages", "venv",
})  # fmt: skip
"""Folders that are left out: packages of others, generated code, and migrations of Django."""
MOST_BYTES = 4_000_000
"""The longest file that is read; a longer one is generated."""


def source_files(path: Path, exclude: Sequence[str], refused: Callable[[OSError], None]) -> Iterator[Path]:
    """Yield the Python files below *path* in order, or *path* itself if it is a file.

    *exclude*: patterns of a file's or folder's name, or of its path below *path*. *refused* gets the error of a folder that cannot be read.
    """
    if path.is_file():
        yield path
        return
    for folder, folders, files in os.walk(path, onerror=refused):
        here = Path(folder)
        folders[:] = sorted(one for one in folders if one not in EXCLUDED and not _is_excluded(here / one, path, exclude))
        for name in sorted(files):
            if name.endswith(".py") and not _is_excluded(here / name, path, exclude):
                yield here / name


def module_of(file: Path) -> tuple[str, bool]:
    """Return the dotted name of the module that *file* is, by the packages around it, and whether it is a package itself."""
    parts = [] if file.name == "__init__.py" else [file.stem]
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder.name:
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts), file.name == "__init__.py"


def _is_excluded(one: Path, root: Path, exclude: Sequence[str]) -> bool:
    """Return whether a pattern matches the name of *one*, its path below *root*, as it is shown, or from the root of the disk."""
    shown = (one.name, one.relative_to(root).as_posix(), one.as_posix(), one.absolute().as_posix())
    patterns = [os.path.normpath(pattern) for pattern in exclude]
    return any(fnmatchcase(name, pattern) for name in shown for pattern in patterns)
