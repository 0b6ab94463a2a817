"""A target: modules that are mutated together, and the tests that judge them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.mutants.mutant import Mutant
from tests.mutants.syntax import of_module
from tests.mutants.writes import modules, of_writes

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Target:
    """Modules, by their names below `sedano`, and the test files that judge them, below `tests`. *holds*: no mutant of it survives."""

    name: str
    modules: tuple[str, ...]
    judges: tuple[str, ...]
    holds: bool = False

    def mutants(self) -> list[Mutant]:
        """Return every mutant of the target."""
        return [mutant for name in self.names() for mutant in of(name)]

    def names(self) -> list[str]:
        """Return the full names of the modules."""
        return [module if module.startswith("tests.") else f"sedano.{module}" for module in self.modules]

    def of_writes(self) -> bool:
        """Return whether conditional writes are changed, which only tests on moto send."""
        return any(name in modules() for name in self.names())

    def files(self) -> list[str]:
        """Return the paths of the judges."""
        return [str(ROOT / "tests" / judge) for judge in self.judges]


@cache
def of(module: str) -> tuple[Mutant, ...]:
    """Return every mutant of *module*: of its conditional writes, if it holds any, of its functions and of its constants."""
    return (*(of_writes(module) if module in modules() else ()), *of_module(module))


def conformance(*names: str) -> tuple[str, ...]:
    """Return the suites of these ports."""
    return tuple(f"conformance/test_{name}.py" for name in names)


def unit(*names: str) -> tuple[str, ...]:
    """Return these unit tests."""
    return tuple(f"unit/{room}test_{name}.py" for one in names for room, name in [_parted(one)])


def stories(*names: str) -> tuple[str, ...]:
    """Return these stories."""
    return tuple(f"stories/test_{name}.py" for name in names)


def each(room: str, names: str) -> tuple[str, ...]:
    """Return the modules of these *names* in *room*."""
    return tuple(f"{room}.{name}" for name in names.split())


def _parted(name: str) -> tuple[str, str]:
    """Part `engine/publisher` into its room with the slash and its name."""
    room, slash, last = name.rpartition("/")
    return room + slash, last
