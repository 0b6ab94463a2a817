"""How much of everything is played: little in `make test`, much in `make prove`."""

from __future__ import annotations

from dataclasses import dataclass

FLOW = ("schedules", "limits", "permits", "boards", "controllers", "circuits", "collected")
"""The worlds of time and flow."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Schedules of each kind, blocks and schedules a mutant gets, histories to check, expressions and sequences to compare.

    *extensions*, *effects*, *groups*: schedules of extended claims, of effects, and of group commit; *others*: of each world that has no
    number of its own; *flow*: of each world of time and flow (`FLOW`); *crowds*: chords of 10 000 members; *crons*: pairs of cron
    expressions, each compared on a change of the clocks and anywhere; *outages*: schedules of outages.
    """

    claims: int
    leases: int
    elections: int
    extensions: int
    effects: int
    groups: int
    others: int
    flow: int
    blocks: int
    block: int
    histories: int
    expressions: int
    sequences: int
    crowds: int
    crons: int
    outages: int

    def schedules(self, world: str) -> int:
        """Return how many schedules of a *world* are played."""
        own: dict[str, int] = {name: getattr(self, name) for name in ("claims", "leases", "elections", "extensions", "effects", "groups")}
        return {**own, **dict.fromkeys(FLOW, self.flow)}.get(world, self.others)


CI = Sizes(
    claims=4_000, leases=4_000, elections=4_000, extensions=1_000, effects=2_000, groups=1_000, others=1_000, flow=250, blocks=1,
    block=2_000, histories=5_000, expressions=5_000, sequences=40, crowds=0, crons=0, outages=0,
)  # fmt: skip
"""Twice a block or more, which catches every planted fault: `tests.simulation.test_mutants`."""
RELEASE = Sizes(
    claims=5_000_000, leases=1_000_000, elections=1_000_000, extensions=1_000_000, effects=1_000_000, groups=1_000_000,
    others=20_000, flow=50_000, blocks=20, block=2_000, histories=100_000, expressions=100_000, sequences=2_000, crowds=10,
    crons=50_000, outages=10_000,
)  # fmt: skip
