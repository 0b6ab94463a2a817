"""Members: the newest heartbeat of each worker."""

from dataclasses import replace

from sedano.ports import MemberRecord
from tests.conformance.worlds import World

MEMBER = MemberRecord("host.1#a/b.ä", 1_767_225_600_000_001, "ACTIVE", 3, 1_767_225_600.125)


def test_a_heartbeat_is_read_back(world: World) -> None:
    world.members.beat(MEMBER)
    assert world.members.read() == [MEMBER]


def test_a_newer_heartbeat_replaces_an_older_one(world: World) -> None:
    world.members.beat(MEMBER)
    newer = replace(MEMBER, clock=MEMBER.clock + 1, state="IDLE", in_flight=0)
    world.members.beat(newer)
    assert world.members.read() == [newer]


def test_a_heartbeat_that_comes_late_never_replaces_a_newer_one(world: World) -> None:
    world.members.beat(MEMBER)
    world.members.beat(replace(MEMBER, clock=MEMBER.clock - 1, state="LEFT"))
    world.members.beat(replace(MEMBER, state="LEFT"))
    assert world.members.read() == [MEMBER]


def test_members_are_read_by_name(world: World) -> None:
    for name in ("b", "a", "c"):
        world.members.beat(replace(MEMBER, name=name))
    assert [member.name for member in world.members.read()] == ["a", "b", "c"]


def test_a_cluster_without_members_is_empty(world: World) -> None:
    assert world.members.read() == []
