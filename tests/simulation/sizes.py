"""How much of everything is played: little in `make test`, much in `make prove`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Schedules of each kind, blocks and schedules a mutant gets, histories to check, expressions and sequences to compare."""

    claims: int
    leases: int
    elections: int
    blocks: int
    block: int
    histories: int
    expressions: int
    sequences: int


CI = Sizes(claims=6_000, leases=3_000, elections=2_000, blocks=1, block=2_000, histories=5_000, expressions=1_000, sequences=40)
RELEASE = Sizes(
    claims=5_000_000, leases=1_000_000, elections=1_000_000, blocks=20, block=2_000, histories=100_000, expressions=100_000, sequences=2_000
)
