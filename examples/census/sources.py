"""The choice of files for the census: Python sources under a directory, small and large, the same every time.

No file stops the census: one that is not UTF-8 or cannot be opened is counted with its fault. A directory that cannot be used (missing,
or with too few files) is an error with the remedy.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

LARGE = 60_000
"""The size in bytes from which on a text is sent through the blob store (sedano's claim check)."""
MOST_BYTES = 250_000
"""Larger files are left out: parsed ten at a time, they would exceed the six seconds of a local function."""
SHARE_OF_LARGE = 0.1


class SourcesError(Exception):
    """The sources cannot be counted; the message has the reason and the remedy."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file: its path from the directory with forward slashes, its size in bytes, its text, or its fault."""

    path: str
    size: int
    text: str
    trouble: str = ""


def site_packages() -> Path:
    """Return the folder of the packages of this Python."""
    return Path(sysconfig.get_paths()["purelib"])


def choose(directory: Path, count: int) -> list[SourceFile]:
    """Return *count* of the Python files under *directory*: a tenth of them large if there are as many, the rest small.

    Raises:
        SourcesError: the directory does not exist, or does not have that many files.
    """
    if count < 1:
        raise SourcesError(f"--files {count}: expected at least 1")
    if not directory.is_dir():
        raise SourcesError(f"--sources {directory}: the directory does not exist")
    found = sorted(_python_files(directory))
    if len(found) < count:
        raise SourcesError(
            f"--sources {directory}: {len(found)} Python files of at most {MOST_BYTES // 1000} KB, but {count} are needed; "
            f"name a larger directory or fewer files (make demo SOURCES=dir FILES=n)"
        )
    large = [path for path, size in found if size > LARGE]
    small = [path for path, size in found if size <= LARGE]
    wanted = max(min(round(count * SHARE_OF_LARGE), len(large)), count - len(small))
    return [_read(directory, path) for path in sorted([*_spread(large, wanted), *_spread(small, count - wanted)])]


def _python_files(directory: Path) -> Iterator[tuple[str, int]]:
    for place, folders, files in os.walk(directory):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in files:
            path = Path(place, name)
            if name.endswith(".py") and path.is_file() and path.stat().st_size <= MOST_BYTES:
                yield path.relative_to(directory).as_posix(), path.stat().st_size


def _spread(paths: Sequence[str], count: int) -> list[str]:
    """Return *count* of *paths*, evenly spaced."""
    return [paths[number * len(paths) // count] for number in range(count)]


def _read(directory: Path, path: str) -> SourceFile:
    try:
        data = (directory / path).read_bytes()
    except OSError as error:
        return SourceFile(path, 0, "", f"cannot be read: {error.strerror}")
    try:
        return SourceFile(path, len(data), data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return SourceFile(path, len(data), "", f"is not UTF-8: byte {data[error.start]:#04x} at {error.start}")
