"""The states of members: idle is never lost, whatever the clocks say."""


from hypothesis import given
from hypothesis import strategies as st

from sedano.model import states
from sedano.model.cluster.members import ACTIVE, IDLE, LEFT, LOST, SKEW_S, STALE_S, MemberRecord, held, state_of, view
from sedano.model.ledger.records import TaskRecord

NOW = 1_767_225_600.0
MEMBER = MemberRecord("a", 1, ACTIVE, 1, NOW - STALE_S - 1, ("t1", "t2"))
RUNNING = TaskRecord("t1", states.RUNNING, owner="a", expires=NOW + 10)

records = st.dictionaries(
    st.sampled_from(["t1", "t2", "t3"]),
    st.builds(
        TaskRecord,
        task_id=st.just("t"),
        state=st.sampled_from(sorted(states.TRANSITIONS)),
        owner=st.sampled_from(["a", "b", ""]),
        expires=st.floats(NOW - 1_000, NOW + 1_000),
    ),
)
members = st.builds(
    MemberRecord,
    name=st.sampled_from(["a", "b"]),
    clock=st.just(1),
    state=st.just(ACTIVE),
    in_flight=st.integers(0, 10),
    seen=st.floats(NOW - 10_000, NOW + 10),
    tasks=st.lists(st.sampled_from(["t1", "t2", "t3", "t4"])).map(tuple),
)


@given(members, records)
def test_idle_is_never_lost(member: MemberRecord, known: dict[str, TaskRecord]) -> None:
    """M1: LOST needs a claim that bears the member's name, is among those that it took, and has run out."""
    run_out = [r for r in held(member, known) if r.expires < NOW]
    assert state_of(member, known, NOW) != LOST or run_out


@given(members, records, st.floats(0, 1_000))
def test_who_is_active_only_changes_its_state_when_time_passes(member: MemberRecord, known: dict[str, TaskRecord], later: float) -> None:
    order = [ACTIVE, LOST] if held(member, known) else [ACTIVE, IDLE]
    before, after = state_of(member, known, NOW), state_of(member, known, NOW + later)
    assert order.index(before) <= order.index(after)


def test_a_fresh_heartbeat_is_active_whatever_it_holds() -> None:
    assert state_of(MEMBER._replace(seen=NOW - STALE_S), {}, NOW) == ACTIVE


def test_a_silent_member_is_idle_unless_a_claim_of_its_own_is_open() -> None:
    assert state_of(MEMBER, {}, NOW) == IDLE
    assert state_of(MEMBER, {"t1": RUNNING._replace(state=states.SUCCESS)}, NOW) == IDLE
    assert state_of(MEMBER, {"t1": RUNNING._replace(owner="b", expires=0.0)}, NOW) == IDLE
    assert state_of(MEMBER, {"t1": RUNNING}, NOW) == ACTIVE
    assert state_of(MEMBER, {"t1": RUNNING}, RUNNING.expires + SKEW_S) == ACTIVE
    assert state_of(MEMBER, {"t1": RUNNING}, RUNNING.expires + SKEW_S + 0.1) == LOST


def test_what_a_member_or_its_heir_said_stands() -> None:
    for said in (LEFT, LOST):
        assert state_of(MEMBER._replace(state=said, seen=NOW), {"t1": RUNNING}, NOW) == said


def test_who_is_active_or_idle_is_alive() -> None:
    assert view(MEMBER, {"t1": RUNNING}, NOW).alive
    assert view(MEMBER, {}, NOW).alive
    assert not view(MEMBER._replace(state=LEFT), {}, NOW).alive
    assert view(MEMBER, {"t1": RUNNING}, NOW).holds == ("t1",)
