"""Judging who held permits: every write to a board by the simulation's referee, and how many were at the resource at once.

A holder that was killed counts as present until its permit is over: nobody may take its place before that, and a permit is over, at the
latest, with the claim of the invocation that took it (P3, which the referee of writes judges). So what a killed holder had comes back.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

from tests.deploy.fight.chores import LIMIT
from tests.simulation.claim_referee import number, text
from tests.simulation.dynamodb import Change
from tests.simulation.limit_referee import permits_changed
from tests.simulation.values import Item
from tests.simulation.world import World

Line = Mapping[str, Any]


class Stay(NamedTuple):
    """A stay of a *process* at the resource under a *permit*, until it left or its time was over (monotonic)."""

    process: str
    permit: int
    begun: float
    until: float


class Boards:
    """The referee of writes to permits. *lines*: what all processes wrote down."""

    def __init__(self, world: World, lines: Iterable[Line]) -> None:
        """Know until when each invocation lasts."""
        self.world = world
        self.until: dict[str, float] = {line["mark"]: line["until"] for line in lines if line["kind"] == "given"}

    def changed(self, change: Change, mark: str, ended: float) -> None:
        """Judge a write that *mark* made, of which it heard at *ended* (epoch s).

        Raises:
            Violation: it breaks a promise.
        """
        clock = SimpleNamespace(now=lambda: ended, offset=0.0)
        process = SimpleNamespace(mark=mark, until=self.until.get(mark, 0.0), clock=clock)
        for place in range(LIMIT):
            if _over(change.old, place) and text(change.old, f"n{place}") != text(change.new, f"n{place}"):
                self.world.branches["permits that came back by themselves"] += 1
        permits_changed(self.world, Change((process, mark), *change[1:]))


def _over(item: Item | None, place: int) -> bool:
    """Tell whether somebody held the permit who never gave it back."""
    return number(item, f"e{place}") > 0 and not text(item, f"w{place}")


def crowded(lines: Iterable[Line], figures: Counter[str]) -> Iterator[str]:
    """Judge that at most `LIMIT` with a key are at the resource at a time, by the machine's one monotonic clock (P1)."""
    for key, stays in _stays(lines).items():
        figures["runs under permits"] += len(stays)
        for stay in stays:
            beside = {one.process for one in stays if one.begun <= stay.begun < one.until and stay.begun < stay.until}
            figures["at the resource at once, at the most"] = max(figures["at the resource at once, at the most"], len(beside))
            if len(beside) > LIMIT:
                yield f"P1: process {stay.process} was with {key}, under permit {stay.permit}, among {sorted(beside)}"
            if not 0 <= stay.permit < LIMIT:
                yield f"P2: {key}: permit {stay.permit} of {LIMIT}"


def _stays(lines: Iterable[Line]) -> Mapping[str, list[Stay]]:
    """Return the stays at each key; a process does one thing after the other."""
    found: defaultdict[str, list[Stay]] = defaultdict(list)
    inside: dict[str, int] = {}
    for line in lines:
        if line["kind"] == "enters":
            inside[line["process"]] = len(found[line["key"]])
            found[line["key"]].append(Stay(line["process"], line["permit"], line["at"], line["until"]))
        elif line["kind"] == "leaves":
            stays, place = found[line["key"]], inside[line["process"]]
            stays[place] = stays[place]._replace(until=min(stays[place].until, line["at"]))
    return found
