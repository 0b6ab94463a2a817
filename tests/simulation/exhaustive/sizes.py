"""Which models are searched: a few seconds' worth in `make test`, all of them in `make prove`."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.exhaustive.claims import ClaimModel
from tests.simulation.exhaustive.elections import ElectionModel
from tests.simulation.exhaustive.follow import FollowModel
from tests.simulation.exhaustive.joins import JoinModel
from tests.simulation.exhaustive.leases import LeaseModel
from tests.simulation.exhaustive.search import Searched

SMALL: dict[str, Callable[[], Searched]] = {
    "claim, 2 processes, 2 deliveries each": lambda: ClaimModel(2, 2).run(),
    "follow-ups and retries, 2 deaths": lambda: FollowModel(2, 3).run(),
    "lease, 2 processes, 1 term each": lambda: LeaseModel(2, 1).run(),
    "lease, 3 processes, 1 term each": lambda: LeaseModel(3, 1).run(),
    "election, 3 candidates": lambda: ElectionModel(3, 2).run(),
    "election, 4 candidates": lambda: ElectionModel(4, 2).run(),
    "join, 5 members in shards of 2": lambda: JoinModel(5, 2, 2).run(),
}
LARGE: dict[str, Callable[[], Searched]] = {
    **SMALL,
    "claim, 3 processes, 1 delivery each": lambda: ClaimModel(3, 1).run(),
    "follow-ups and retries, 3 deaths": lambda: FollowModel(3, 3).run(),
    "lease, 2 processes, 2 terms each": lambda: LeaseModel(2, 2).run(),
    "election, 5 candidates": lambda: ElectionModel(5, 2).run(),
    "join, 6 members in shards of 2, 3 deaths": lambda: JoinModel(6, 2, 3).run(),
}
