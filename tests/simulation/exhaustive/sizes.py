"""Which small worlds are searched: more than a million states in `make test`, larger ones besides in `make prove`."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.exhaustive.claims import ClaimModel
from tests.simulation.exhaustive.elections import ElectionModel
from tests.simulation.exhaustive.extensions import ExtensionModel
from tests.simulation.exhaustive.follow import FollowModel
from tests.simulation.exhaustive.groups import GroupModel
from tests.simulation.exhaustive.inline import LARGE as CHAINS
from tests.simulation.exhaustive.inline import InlineModel
from tests.simulation.exhaustive.joins import JoinModel
from tests.simulation.exhaustive.leases import LeaseModel
from tests.simulation.exhaustive.packs import LARGE as PACKS
from tests.simulation.exhaustive.packs import PackModel
from tests.simulation.exhaustive.search import Searched

SMALL: dict[str, Callable[[], Searched]] = {
    "claim, 2 processes, 3 deliveries each": lambda: ClaimModel(2, 3).run(),
    "claim, 3 processes, 2 deliveries each": lambda: ClaimModel(3, 2).run(),
    "claim, 4 processes, 1 delivery each": lambda: ClaimModel(4, 1).run(),
    "group commit, 2 processes, 3 deliveries each": lambda: GroupModel(2, 3).run(),
    "group commit, 4 processes, 1 delivery each": lambda: GroupModel(4, 1).run(),
    "follow-ups, retries and a copy, 3 deaths": lambda: FollowModel(3, 3).run(),
    "extension, a death, one clock ahead by the guard": lambda: ExtensionModel(length=2, ahead=(0, 1), copies=0, deaths=1).run(),
    "lease, 2 processes, 3 terms each": lambda: LeaseModel(2, 3).run(),
    "lease, 3 processes, 2 terms each": lambda: LeaseModel(3, 2).run(),
    "lease, 4 processes, 1 term each": lambda: LeaseModel(4, 1).run(),
    "election, 3 candidates that ask twice": lambda: ElectionModel(3, 2).run(),
    "election, 4 candidates": lambda: ElectionModel(4, 1).run(),
    "election, 5 candidates": lambda: ElectionModel(5, 1).run(),
    "join, 5 members in shards of 2, 2 deaths": lambda: JoinModel(5, 2, 2).run(),
    "join, 6 members in shards of 2, 3 deaths": lambda: JoinModel(6, 2, 3).run(),
}
LARGE: dict[str, Callable[[], Searched]] = {
    **SMALL,
    "claim, 2 processes, 4 deliveries each": lambda: ClaimModel(2, 4).run(),
    "claim, 3 processes, 3 deliveries each": lambda: ClaimModel(3, 3).run(),
    "group commit, 3 processes, 2 deliveries each": lambda: GroupModel(3, 2).run(),
    "follow-ups, retries and a copy, 4 deaths": lambda: FollowModel(4, 3).run(),
    "extension, a copy, a death": lambda: ExtensionModel(deaths=1).run(),
    "extension, a copy, one clock ahead by the guard": lambda: ExtensionModel(ahead=(0, 1)).run(),
    "extension, a copy, one clock behind by the guard": lambda: ExtensionModel(ahead=(0, -1)).run(),
    "extension, a copy, clocks apart by a guard of two": lambda: ExtensionModel(length=4, guard=2, ahead=(-1, 1)).run(),
    "extension, requests that arrive late and twice": lambda: ExtensionModel(flying=2, copies=0).run(),
    "lease, 2 processes, 4 terms each": lambda: LeaseModel(2, 4).run(),
    "join, 7 members in shards of 3, 3 deaths": lambda: JoinModel(7, 3, 3).run(),
    **{name: InlineModel(world).run for name, world in CHAINS.items()},
    **{name: PackModel(world).run for name, world in PACKS.items()},
}
