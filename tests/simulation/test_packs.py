"""Small packs, all of their stories: and the shortest way into each planted fault."""

from collections.abc import Sequence

import pytest

from tests.simulation.exhaustive.packs import WORLDS, PackModel

FAULTS: dict[str, tuple[str, Sequence[str]]] = {
    "a pack that was taken over runs again": ("a poison", ["steal"]),
    "a claim that was taken over and is released": ("given back", ["releasetaken"]),
    "a pack that is unpacked without a write": ("a copy", ["nosplitwrite"]),
    "a record over the claim of another": ("a retry, a death", ["noholder"]),
    "an end whose follow-ups are not sent again": ("a retry, a death", ["ackended"]),
    "an acknowledgement after the record": ("a retry, a death", ["acklost"]),
    "a first fence like that of the pack's bodies": ("guarded resources", ["nobase"]),
    "another layout of the same group": ("a retry, a death", ["otherlayout"]),
    "a mark that is lost when its member leaves": ("a revocation", ["marklost"]),
    "a mark after the end": ("a revocation", ["marklate"]),
    "marks that are not read at the claim": ("a revocation of what succeeds", ["nomarks"]),
    "a revocation in the member's own record first": ("a revocation", ["membersitem"]),
    "follow-ups before the record": ("retries and rests", ["followfirst"]),
    "arrivals of members that left": ("retries and rests", ["arriveall"]),
    "follow-ups from the worker's memory": ("a revocation", ["followlocal"]),
    "a retry whose record must exist": ("a retry, a death", ["mustexist"]),
}  # fmt: skip


@pytest.mark.parametrize("name", WORLDS)
def test_each_member_ends_once_and_no_join_waits_forever(name: str) -> None:
    found = PackModel(WORLDS[name]).run()
    assert not found.violation, "\n".join(found.path)
    assert found.states > 40


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_with_its_shortest_story(fault: str) -> None:
    world, faults = FAULTS[fault]
    found = PackModel(WORLDS[world], *faults).run()
    print("\n".join((found.violation, *found.path)))
    assert found.violation
    assert found.path
