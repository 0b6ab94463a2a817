"""Members: the newest heartbeat of each worker."""


from sedano.ports import MemberRecord
from tests.conformance.worlds import World

MEMBER = MemberRecord(
    "host.1#a/b.ä", 1_767_225_600_000_001, "ACTIVE", 3, 1_767_225_600.125, ("task-1", "ä#2"), '{"id":"pong"}', '{"host":"lambda"}'
)  # fmt: skip


def test_a_heartbeat_is_read_back(world: World) -> None:
    world.members.beat(MEMBER)
    assert world.members.read() == [MEMBER]


def test_a_newer_heartbeat_replaces_an_older_one(world: World) -> None:
    world.members.beat(MEMBER)
    newer = MEMBER._replace(clock=MEMBER.clock + 1, state="IDLE", in_flight=0, report='{"condition":"draining"}')
    world.members.beat(newer)
    assert world.members.read() == [newer]


def test_a_heartbeat_that_comes_late_never_replaces_a_newer_one(world: World) -> None:
    world.members.beat(MEMBER)
    world.members.beat(MEMBER._replace(clock=MEMBER.clock - 1, state="LEFT"))
    world.members.beat(MEMBER._replace(state="LEFT"))
    assert world.members.read() == [MEMBER]


def test_members_are_read_by_name(world: World) -> None:
    for name in ("b", "a", "c"):
        world.members.beat(MEMBER._replace(name=name))
    assert [member.name for member in world.members.read()] == ["a", "b", "c"]


def test_a_cluster_without_members_is_empty(world: World) -> None:
    assert world.members.read() == []


def test_a_member_that_was_silent_since_its_claim_ran_out_is_written_down_as_lost(world: World) -> None:
    world.members.beat(MEMBER)
    assert world.members.lose(MEMBER.name, MEMBER.clock + 5, MEMBER.seen + 30)
    lost = MEMBER._replace(state="LOST", clock=MEMBER.clock + 5)
    assert world.members.read() == [lost]
    assert world.members.lose(MEMBER.name, MEMBER.clock + 5, MEMBER.seen + 30), "an own write is recognised"
    assert not world.members.lose(MEMBER.name, MEMBER.clock + 6, MEMBER.seen + 30)
    assert world.members.read() == [lost]


def test_a_member_that_has_spoken_since_is_not_lost(world: World) -> None:
    world.members.beat(MEMBER)
    assert not world.members.lose(MEMBER.name, MEMBER.clock + 5, MEMBER.seen)
    assert not world.members.lose(MEMBER.name, MEMBER.clock - 1, MEMBER.seen + 30)
    assert not world.members.lose(MEMBER.name, MEMBER.clock, MEMBER.seen + 30)
    assert world.members.read() == [MEMBER]


def test_a_member_that_left_or_was_never_heard_of_is_not_lost(world: World) -> None:
    assert not world.members.lose("nobody", MEMBER.clock + 5, MEMBER.seen + 30)
    gone = MEMBER._replace(state="LEFT")
    world.members.beat(gone)
    assert not world.members.lose(MEMBER.name, MEMBER.clock + 5, MEMBER.seen + 30)
    assert world.members.read() == [gone]


def test_a_lost_member_that_beats_again_is_back(world: World) -> None:
    world.members.beat(MEMBER)
    world.members.lose(MEMBER.name, MEMBER.clock + 5, MEMBER.seen + 30)
    back = MEMBER._replace(clock=MEMBER.clock + 6, seen=MEMBER.seen + 60)
    world.members.beat(back)
    assert world.members.read() == [back]
