"""What a round decides follows from what it saw and nothing else; what it has decided already it does not decide again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.model import states
from sedano.model.budgets import Budget, Level, Load
from sedano.model.cluster.controller import APPLY_AGAIN_S, STUCK_S, Lost, QueueBudget, Scale, Seen, Stuck, decide
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


def test_a_lost_worker_is_reported_with_its_first_lapsed_claim_and_its_clock():
    claims = {name: TaskRecord(name, states.RUNNING, owner="w", expires=NOW - ago) for name, ago in (("t", 60), ("u", 90), ("v", 70))}
    seen = SEEN._replace(members=[MEMBER._replace(tasks=("t", "u", "v")), MEMBER._replace(name="x")], records=claims)
    assert decide(BUDGETS, CHECKS, seen).lost == (Lost("w", NOW - 90, 7),)


@pytest.mark.parametrize(
    ("state", "ago", "stuck"),
    [(states.RUNNING, 3_600, True), (states.RUNNING, 3_599, False), (states.SUCCESS, 9_999, False), (states.RETRY, 9_999, False)],
)
def test_only_a_running_task_can_be_stuck(state, ago, stuck):
    seen = SEEN._replace(records={"t": TaskRecord("t", state, owner="w", expires=NOW - ago)})
    assert decide(BUDGETS, CHECKS, seen).stuck == ((Stuck("t", "w", NOW - ago),) if stuck else ())


@pytest.mark.parametrize(
    ("ago", "applied", "in_force", "again"),
    [
        (30, False, None, False),
        (30.5, False, None, True),
        (-5, False, None, False),
        (-5.5, False, None, True),
        (99, True, None, False),
        (99, True, 7, False),
        (99, True, 6, True),
        (30, True, 6, False),
        (99, False, 7, True),
    ],
)
def test_a_limit_that_is_not_in_force_is_applied_again_after_half_a_minute(ago, applied, in_force, again):
    level = Level(7, 0, 0, NOW - ago, NOW + 60, applied)
    seen = SEEN._replace(loads={"default": Load(0, 70)}, levels={"default": level}, limits={"default": in_force})
    applied_again = Scale("default", level, level._replace(at=NOW, applied=False))
    assert decide(BUDGETS, CHECKS, seen) == ((), (), (), (applied_again,) if again else (), ())


def _seen(levels, **more):
    return SEEN._replace(levels=levels, loads={queue: Load(50, 0) for queue in levels}, health={}, **more)


def test_queues_are_scaled_in_their_order_unless_they_are_paused_or_lambdas_share():
    budgets = {queue: QueueBudget(Budget(least=2, most=100)) for queue in ("d", "c", "b", "a")}
    levels = {queue: Level(2, at=NOW - 99) for queue in "abcde"}
    found = decide(budgets, {}, _seen(levels, paused=frozenset({"b"}), wished={"c": 9, "e": 2, "f": 5}))
    grown = Level(7, 1, 1, NOW, NOW + 60, applied=False)
    assert found.scale == (
        Scale("a", levels["a"], grown), Scale("d", levels["d"], grown), Scale("c", levels["c"], Level(9, at=NOW, applied=False)),
    )  # fmt: skip
    assert found.apply == ()


def test_late_limits_are_those_of_budgets_and_of_scaled_queues_that_do_not_move():
    level = Level(2, at=NOW - 99, until=NOW + 9, applied=False)
    levels = dict.fromkeys(("moving", "mine", "gone", "shared"), level)
    budgets = dict.fromkeys(("moving", "mine"), QueueBudget(Budget(least=2, most=100)))
    levels["moving"] = level._replace(until=NOW)
    found = decide(budgets, {}, _seen(levels, wished={"shared": 2}))
    assert [one.queue for one in found.scale] == ["moving"]
    assert found.apply == tuple(Scale(queue, level, level._replace(at=NOW)) for queue in ("mine", "shared"))


@pytest.mark.parametrize(
    ("load", "bursts", "limit"),
    [
        (Load(21, 0), {}, 5),
        (Load(20, 0), {}, None),
        (Load(0, 11), {}, None),
        (Load(0, 10), {}, 1),
        (Load(0, 999), {}, None),
        (Load(0, 15), {"default": 1}, 3),
        (Load(5, 15), {"default": 21}, 6),
    ],
)
def test_a_queue_is_scaled_by_the_invocations_that_its_messages_need(load, bursts, limit):
    rule, level = QueueBudget(Budget(least=1, most=100)), Level(2)
    found = decide({"default": rule}, {}, SEEN._replace(loads={"default": load}, levels={"default": level}, bursts=bursts))
    assert [one.level.limit for one in found.scale] == ([] if limit is None else [limit])
    assert all(not one.level.applied for one in found.scale)


def test_a_level_whose_row_ends_is_written_without_a_new_limit():
    level = Level(2, 0, 3, NOW - 99, NOW - 9)
    found = decide(BUDGETS, CHECKS, SEEN._replace(levels={"default": level}))
    assert found.scale == (Scale("default", level, Level(2, 0, 0, NOW - 99, NOW - 9)),)


def test_the_checks_that_are_due_are_asked_for_by_name():
    checks = {name: HealthCheck(name, every=60) for name in ("c", "b", "a")}
    known = {"a": Health("a", at=NOW, asked=NOW - 99), "c": Health("c", at=NOW - 60, asked=NOW - 60)}
    assert decide({}, checks, SEEN._replace(levels={}, health=known)).ask == ("b", "c")


def test_without_periodic_tasks_the_strategy_alone_decides():
    rule = QueueBudget(Budget(least=1, most=100), lambda budget, level, load, now: level, batch=1)
    assert decide({"default": rule}, {}, SEEN._replace(loads={"default": Load(5, 2)})).scale == ()
