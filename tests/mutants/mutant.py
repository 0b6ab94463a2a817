"""One mutant: a place in the code, the change that is made there, and what plants it in a process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

LONGEST = 90
Key = tuple[str, str, str, str]
"""The module, the place, the text and the change of a mutant."""


class Write(Protocol):
    """Writes down the module of a mutant."""

    def __call__(self, *, changed: bool = True) -> str:
        """Return the text of the module with the change, or without it."""
        ...


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of one place of one module.

    Attributes:
        module: the dotted name of the module.
        place: the function, the constant or the write that is changed.
        text: the source line, or the whole text of an expression, before the change.
        change: what is changed into what.
        plant: makes the change in this process. A process that ran it must end without running anything else.
        line: the first of the lines that are changed; 0 for a change that is no line's.
        last: the last of those lines.
        written: the texts of a write; a test that never sends one of them cannot notice the change.
        source: the source of the function that is changed; a result of an earlier run holds while it is the same.
        write: writes the module down, for mypy; None: the change is one that no type shows.
    """

    module: str
    place: str
    text: str
    change: str
    plant: Callable[[], None]
    line: int = 0
    last: int = 0
    written: tuple[str, ...] = ()
    source: str = ""
    write: Write | None = None

    @property
    def key(self) -> Key:
        """Name the mutant for as long as its source line stays the same."""
        return self.module, self.place, self.text, self.change

    def __str__(self) -> str:
        """Return the place and the change in one line."""
        return f"{self.module}:{self.line} {self.place}: {self.change}"


def numbered(mutants: Iterable[Mutant]) -> Iterator[Mutant]:
    """Tell equal changes of equal lines of one place apart: the second says `(2)`."""
    seen: Counter[tuple[str, str, str, str]] = Counter()
    for mutant in mutants:
        seen[mutant.key] += 1
        count = seen[mutant.key]
        yield mutant if count == 1 else replace(mutant, change=f"{mutant.change} ({count})")


def shortened(text: str) -> str:
    """Return *text* on one line, cut in the middle when it is long."""
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST else f"{flat[: LONGEST // 2]} … {flat[-LONGEST // 2 :]}"
