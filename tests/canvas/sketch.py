"""Sketches of canvases: what a random canvas is drawn as before it becomes forms of sedano (`workshop`) and before it is given a meaning
(`meaning`). They know nothing of how sedano writes a canvas down.

`Drawing` draws one from a chooser, a function from n to a number below n in which smaller means simpler: a seeded generator, or Hypothesis,
which shrinks what fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

DEEPEST, MOST = 5, 200
"""How deep a sketch is at most, and how many tasks it comes to at most."""


class Errback(NamedTuple):
    """An error callback: called with the failed task's id (``id``), with request, exception and traceback (``context``), or with its own
    arguments only (``own``).
    """

    number: int
    style: str

    @property
    def name(self) -> str:
        """The name of its task."""
        return f"{self.style}-errback-{self.number}"


class Step(NamedTuple):
    """One task. Its *kind*: ``ok``; ``fail``s at once; ``poisonous``, ``ignored``, ``rejected``: fails and is not tried again although it
    may be; ``retried``: fails twice and succeeds then; ``tired``: fails at every attempt; ``late``: expires before it can begin;
    ``replace``: replaces itself by *instead*; ``adds``: adds *instead* to the chord that it is a member of; ``quiet``: keeps no result
    of its own; ``once``: is not claimed, its result is recorded once.
    """

    number: int
    kind: str = "ok"
    immutable: bool = False
    keyword: bool = False
    links: tuple[Sketch, ...] = ()
    errors: tuple[Errback, ...] = ()
    stamped: bool = False
    instead: Sketch | None = None

    @property
    def name(self) -> str:
        """The name of its task."""
        return f"{self.kind}-{self.number}"


class Mapped(NamedTuple):
    """One message that calls a task for each of *items*, which fails at the item 0; *star*: each is a list of arguments."""

    number: int
    items: tuple[int, ...]
    star: bool = False
    links: tuple[Sketch, ...] = ()
    errors: tuple[Errback, ...] = ()
    stamped: bool = False

    @property
    def name(self) -> str:
        """The name of the task."""
        return f"mapped-{self.number}"


class Chain(NamedTuple):
    """One after another; *piped*: put together with ``|``."""

    parts: tuple[Sketch | Fork, ...]
    piped: bool = False
    links: tuple[Sketch, ...] = ()
    errors: tuple[Errback, ...] = ()
    stamped: bool = False


class Group(NamedTuple):
    """Side by side; *chunked*: the members are the chunks of one call of `chunks`, `CHUNK` items each."""

    members: tuple[Sketch, ...]
    links: tuple[Sketch, ...] = ()
    errors: tuple[Errback, ...] = ()
    stamped: bool = False
    chunked: bool = False


class Chord(NamedTuple):
    """A group and what follows it; *outcomes*: the body is handed how each member ended, also when some failed."""

    header: tuple[Sketch, ...]
    body: Sketch
    outcomes: bool = False
    links: tuple[Sketch, ...] = ()
    errors: tuple[Errback, ...] = ()
    stamped: bool = False


class Fork(NamedTuple):
    """Side branches of the part before."""

    branches: tuple[Sketch, ...]


Sketch = Step | Mapped | Chain | Group | Chord
KINDS = (
    *("ok",) * 32, *("quiet", "once") * 2, *("retried", "replace") * 4, "fail", "fail", "tired", "poisonous", "ignored", "rejected", "late",
)  # fmt: skip
FORMS = ("step",) * 6 + ("mapped",) + ("chain",) * 9 + ("group",) * 5 + ("chunks",) + ("chord",) * 6
SIZES = (2, 1, 3, 2, 0, 4, 8)
CHUNK = 2
"""Items in a chunk."""


class Drawing:
    """Draws one sketch. *kinds*: what tasks may do."""

    def __init__(self, choose: Callable[[int], int], *, most: int = MOST, kinds: tuple[str, ...] = KINDS) -> None:
        """Draw by *choose*, with at most about *most* tasks."""
        self._choose, self._left, self._kinds = choose, most, kinds
        self._number = 0
        self._errbacks: list[Errback] = []

    def sketch(self, depth: int = DEEPEST) -> Sketch:
        """Return a sketch of at most *depth* levels."""
        form = FORMS[self._choose(len(FORMS))] if depth > 1 and self._left > 1 else "step"
        if form == "chain":
            return self._chain(depth - 1)
        if form == "group":
            members = self._several(SIZES[self._choose(len(SIZES))], depth - 1)
            return Group(members, self._links(depth - 1), self._errors(), self._rarely(9))
        if form == "mapped":
            return self._mapped(depth, self._rarely(2))
        if form == "chunks":
            return self._chunks(depth - 1)
        if form == "chord":
            header = tuple(self._adding(m, depth - 2) for m in self._several(SIZES[self._choose(len(SIZES))], depth - 1))
            body = self.sketch(depth - 1)
            links = () if ends_in_fork(body) else self._links(depth - 1)
            return Chord(header, body, self._rarely(5), links, self._errors(), self._rarely(9))
        return self._step(depth)

    def _chain(self, depth: int) -> Chain:
        parts: list[Sketch | Fork] = [self.sketch(depth)]
        for _ in range(self._choose(5)):
            if self._left > 1 and self._rarely(8):
                parts.append(Fork(self._several(1 + self._choose(2), min(depth, 2))))
            elif self._left > 0:
                parts.append(self.sketch(depth))
        links = () if ends_in_fork(parts[-1]) else self._links(depth)
        return Chain(tuple(parts), self._rarely(3), links, self._errors(), self._rarely(9))

    def _step(self, depth: int) -> Step:
        self._number += 1
        self._left -= 1
        number, kind = self._number, self._kinds[self._choose(len(self._kinds))]
        if kind == "replace" and (depth <= 1 or self._left < 1):
            kind = "ok"
        return Step(
            number, kind, self._rarely(6), self._rarely(6), self._links(depth - 1), self._errors(), self._rarely(9),
            self.sketch(depth - 1) if kind == "replace" else None,
        )  # fmt: skip

    def _mapped(self, depth: int, star: bool) -> Mapped:
        self._number += 1
        self._left -= 1
        return Mapped(self._number, self._items(1 + self._choose(4)), star, self._links(depth - 1), self._errors(), self._rarely(9))

    def _chunks(self, depth: int) -> Group:
        self._number += 1
        self._left -= 1
        items = self._items(1 + self._choose(5))
        members = tuple(Mapped(self._number, items[n : n + CHUNK], star=True) for n in range(0, len(items), CHUNK))
        return Group(members, self._links(depth), self._errors(), self._rarely(9), chunked=True)

    def _items(self, size: int) -> tuple[int, ...]:
        """Return items that are all different; one of them is 0, seldom."""
        failing = self._choose(size) if self._rarely(8) else -1
        return tuple(0 if n == failing else n + 1 for n in range(size))

    def _several(self, size: int, depth: int) -> tuple[Sketch, ...]:
        return tuple(self.sketch(depth) for _ in range(min(size, max(0, self._left))))

    def _adding(self, member: Sketch, depth: int) -> Sketch:
        """Return a member of a header that may add another one to it."""
        if isinstance(member, Step) and member.kind == "ok" and depth > 0 and self._left > 0 and self._rarely(4):
            return member._replace(kind="adds", instead=self.sketch(depth))
        return member

    def _links(self, depth: int) -> tuple[Sketch, ...]:
        return (self.sketch(min(depth, 2)),) if depth > 0 and self._left > 1 and self._rarely(10) else ()

    def _errors(self) -> tuple[Errback, ...]:
        """Draw error callbacks: mostly none, one, one that is linked elsewhere too, or two."""
        drawn = self._choose(12)
        if drawn < 8:
            return ()
        if drawn == 8 and self._errbacks:
            return (self._errbacks[self._choose(len(self._errbacks))],)
        return tuple(self._errback() for _ in range(2 if drawn == 11 else 1))

    def _errback(self) -> Errback:
        self._errbacks.append(Errback(len(self._errbacks), ("id", "context", "own")[self._choose(3)]))
        return self._errbacks[-1]

    def _rarely(self, chance: int) -> bool:
        return self._choose(chance) == chance - 1


def ends_in_fork(sketch: Sketch | Fork) -> bool:
    """Tell whether *sketch* ends in side branches, so that there is no one value at its end that could be linked to."""
    if isinstance(sketch, Chain):
        return ends_in_fork(sketch.parts[-1])
    return isinstance(sketch, Fork) or (isinstance(sketch, Chord) and ends_in_fork(sketch.body))
