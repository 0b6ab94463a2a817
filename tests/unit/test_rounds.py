"""What a round decides follows from what it saw and nothing else; what it has decided already it does not decide again."""

from hypothesis import given
from hypothesis import strategies as st

from sedano.model import states
from sedano.model.budgets import Budget, Level, Load
from sedano.model.cluster.controller import APPLY_AGAIN_S, STUCK_S, QueueBudget, Seen, decide
from sedano.model.cluster.members import ACTIVE, LOST, STALE_S, MemberRecord
from sedano.model.health import Health, HealthCheck
from sedano.model.ledger.records import TaskRecord

NOW = 1_767_225_600.0
BUDGETS = {"default": QueueBudget(Budget(least=2, most=100))}
CHECKS = {"mail": HealthCheck("mail", every=60, shared=True)}
SEEN = Seen(NOW, (), {}, {"default": Load(0, 20)}, {"default": Level(2)}, {"mail": Health("mail", at=NOW, asked=NOW)})
MEMBER = MemberRecord("w", 7, ACTIVE, 1, NOW - STALE_S - 1, ("t",))

members = st.builds(
    MemberRecord, st.sampled_from(["w", "v"]), st.integers(0, 9), st.sampled_from([ACTIVE, LOST]), st.integers(0, 3),
    st.integers(-400, 0).map(lambda s: NOW + s), st.just(("t",)),
)  # fmt: skip
records = st.builds(
    lambda state, owner, expires: {"t": TaskRecord("t", state, owner=owner, expires=NOW + expires)},
    st.sampled_from([states.RUNNING, states.SUCCESS, states.RETRY]), st.sampled_from(["w", "v"]), st.integers(-9_000, 100),
)  # fmt: skip
levels = st.builds(
    Level, st.integers(2, 100), st.integers(0, 3), st.integers(0, 3), st.integers(-300, 0).map(lambda s: NOW + s),
    st.integers(-300, 300).map(lambda s: NOW + s), st.booleans(),
)  # fmt: skip
ago = st.integers(-200, 0).map(lambda s: NOW + s)
healths = st.builds(Health, st.just("mail"), at=ago, asked=ago)
loads = st.builds(Load, st.integers(0, 999), st.integers(0, 999))
sights = st.builds(
    Seen, st.just(NOW), st.lists(members, max_size=3), records, loads.map(lambda load: {"default": load}),
    levels.map(lambda level: {"default": level}), healths.map(lambda known: {"mail": known}),
)  # fmt: skip


def test_where_nothing_is_wrong_nothing_is_done():
    assert decide(BUDGETS, CHECKS, SEEN) == ((), (), (), (), ())


def test_a_silent_worker_whose_claim_ran_out_is_lost_and_an_idle_one_is_not():
    record = TaskRecord("t", states.RUNNING, owner="w", expires=NOW - 60)
    seen = SEEN._replace(members=[MEMBER], records={"t": record})
    assert [(lost.name, lost.lapsed) for lost in decide(BUDGETS, CHECKS, seen).lost] == [("w", NOW - 60)]
    for other in (record._replace(owner="v"), record._replace(state=states.SUCCESS), record._replace(expires=NOW + 60)):
        assert decide(BUDGETS, CHECKS, seen._replace(records={"t": other})).lost == ()
    assert decide(BUDGETS, CHECKS, seen._replace(members=[MEMBER._replace(state=LOST)])).lost == ()


def test_a_claim_is_stuck_when_it_ran_out_long_ago():
    record = TaskRecord("t", states.RUNNING, owner="w", expires=NOW - STUCK_S)
    assert [stuck.task_id for stuck in decide(BUDGETS, CHECKS, SEEN._replace(records={"t": record})).stuck] == ["t"]
    assert decide(BUDGETS, CHECKS, SEEN._replace(records={"t": record._replace(expires=NOW - STUCK_S + 1)})).stuck == ()


@given(sights)
def test_a_limit_is_decided_or_applied_again_but_not_while_it_rests_and_never_for_a_paused_queue(seen):
    level, found = seen.levels["default"], decide(BUDGETS, CHECKS, seen)
    for scale in found.scale:
        assert level.until <= NOW
        assert 2 <= scale.level.limit <= 100
        assert scale.level.applied == (scale.level.limit == level.limit and level.applied)
    assert bool(found.apply) == (not level.applied and NOW - level.at > APPLY_AGAIN_S and not found.scale)
    assert decide(BUDGETS, CHECKS, seen._replace(paused=frozenset({"default"}))).scale == ()


@given(sights)
def test_doing_what_was_decided_leaves_nothing_to_decide(seen):
    found = decide(BUDGETS, CHECKS, seen)
    members = [m._replace(state=LOST) if m.name in {lost.name for lost in found.lost} else m for m in seen.members]
    moved = {scale.queue: scale.level._replace(applied=True) for scale in (*found.apply, *found.scale)}
    known = {name: seen.health[name]._replace(asked=NOW) if name in found.ask else seen.health[name] for name in seen.health}
    again = decide(BUDGETS, CHECKS, seen._replace(members=members, levels={**seen.levels, **moved}, health=known))
    assert (again.lost, again.ask, again.apply) == ((), (), ())
    assert all(scale.level.limit == scale.seen.limit for scale in again.scale) or not found.scale
