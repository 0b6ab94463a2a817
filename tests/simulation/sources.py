"""What a piece of work depends on: the whole library, what is pinned, how it is done, and the modules of the tests that it imports.

So a change of one world plays that world again and looks for the planted faults again, and leaves what the others have shown as it is; a
change of the library plays everything again.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from tests.simulation.pieces import WORK, WORLDS, Piece

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = "layers/sedano/python/sedano"
PINNED = "requirements"
_ROOMS: Mapping[str, tuple[str, ...]] = {
    "kill": ("tests.simulation.mutants",), "search": ("tests.simulation.exhaustive",), "fight": ("tests.deploy.fight",),
    "moto": ("tests.simulation.differential",), "ministack": ("tests.simulation.differential",), "crowd": ("tests.stories.crowd",),
    "backlog": ("tests.simulation.backlogs",), "outage": ("tests.simulation.outages",),
    "cron": ("tests.unit.cron_oracle",), "baselines": ("tests.simulation.baselines", "tests.simulation.campaign"),
}  # fmt: skip


def sources(wanted: Sequence[Piece], root: Path = ROOT) -> dict[str, str]:
    """Return the source of each piece, by its key: a hash that changes with whatever the piece depends on below *root*."""
    everywhere = _hashed((*(root / LIBRARY).rglob("*.py"), *(root / PINNED).glob("*.txt")), root)
    rooms = {_rooms(piece) for piece in wanted}
    hashes = {some: _hashed(set().union(*(reached(module, root) for module in some)), root) for some in rooms}
    how = {work: hashlib.sha256(inspect.getsource(WORK[work]).encode()).hexdigest() for work in WORK}
    return {piece.key: _joined(everywhere, how[piece.work], hashes[_rooms(piece)]) for piece in wanted}


def _rooms(piece: Piece) -> tuple[str, ...]:
    return (WORLDS[piece.given[0]].__module__, "tests.simulation.campaign") if piece.work == "play" else _ROOMS[piece.work]


@cache
def reached(module: str, root: Path = ROOT) -> frozenset[Path]:
    """Return the files of the tests that *module* (of a package: all its modules) imports, and these import, wherever in their text."""
    found: set[Path] = set()
    left = _files(module, root, whole=True)
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left += [file for name in _imported(path) for file in _files(name, root)]
    return frozenset(found)


def _files(module: str, root: Path, whole: bool = False) -> list[Path]:
    """Return the file of *module*, or of a package the one of its own; *whole*: all of the package."""
    place = root.joinpath(*module.split("."))
    some = sorted(place.rglob("*.py")) if whole else [place / "__init__.py"]
    return [path for path in (place.with_suffix(".py"), *some) if path.is_file()]


@cache
def _imported(path: Path) -> list[str]:
    """Return the modules of the tests that a file may import; a name from a package may be one of its modules."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [name for name in found if name.partition(".")[0] == "tests"]


def _hashed(paths: Iterable[Path], root: Path) -> str:
    return _joined(*(f"{path.relative_to(root).as_posix()}\0{path.read_text('utf-8')}" for path in sorted(paths)))


def _joined(*texts: str) -> str:
    found = hashlib.sha256()
    for text in texts:
        found.update(f"{len(text)}:{text}".encode())
    return found.hexdigest()
