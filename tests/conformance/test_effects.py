"""Effects: a success and a user's own writes in one transaction; all of them happen, or none."""

from collections.abc import Sequence
from typing import Any

import pytest

from sedano.errors import ConfigurationError, EffectRefused, Unavailable
from sedano.model import states
from sedano.model.effects import ABSENT, Condition, TableWrite
from sedano.model.ledger.records import ErrorRecord, Outcome
from sedano.model.retry import MAX_EXECUTIONS
from tests.conformance.tasks import CLAIM, accepted, claimed, granted, in_the_way, retry, rival, stored, success
from tests.conformance.worlds import World

ROW = {"pk": "a-1", "paid": True, "lines": [{"of": "té", "n": 2}], "left": None, "count": -7}
PUT = TableWrite("orders", "put", {"pk": "a-1"}, item=ROW)
COUNT = TableWrite("orders", "update", {"pk": "sum"}, adds={"count": 1})


def put(number: int, condition: Condition = None, **more: Any) -> TableWrite:
    """A put of the item *number*."""
    key = {"pk": f"row-{number}"}
    return TableWrite("orders", "put", key, item={**key, **more}, condition=condition)


def write(world: World, *effects: TableWrite, outcome: Outcome | None = None, claimed: bool = True) -> Any:
    """Record a success with *effects*."""
    return world.effects.record(outcome or success(), effects, claimed=claimed)


def begin(world: World, task_id: str) -> Outcome:
    """Claim another task, and return its success."""
    claim = CLAIM._replace(task_id=task_id, nonce=(task_id * 32)[:32])
    claimed(world.ledger, claim)
    return success(claim)


def setup(world: World, *effects: TableWrite) -> None:
    """Leave *effects* behind before the test."""
    assert accepted(write(world, *effects, outcome=begin(world, "before")))


def rows(world: World, keys: Sequence[str]) -> list[Any]:
    """The items with these ids."""
    return [world.effects.read("orders", {"pk": key}) for key in keys]


def test_a_success_and_its_effects_are_recorded_together_and_values_are_read_back(world: World) -> None:
    claimed(world.ledger)
    assert accepted(write(world, PUT, COUNT))
    assert stored(world.ledger).state == states.SUCCESS
    assert rows(world, ["a-1", "sum", "none"]) == [ROW, {"pk": "sum", "count": 1}, None]


def test_a_success_with_effects_after_many_failures_leaves_the_index_of_failures(world: World) -> None:
    claim = CLAIM._replace(attempt=MAX_EXECUTIONS - 1)
    error = ErrorRecord("KeyError", "'CHF'", "")
    assert accepted(world.ledger.record([retry(claim, claimed(world.ledger, claim).fence, error=error)])[0])
    again = CLAIM._replace(attempt=MAX_EXECUTIONS)
    outcome = success(again, claimed(world.ledger, again).fence)
    assert [one.task_id for one in world.ledger.failures("2026-01-01", 9) or ()] == ["task-1"]
    assert accepted(write(world, PUT, outcome=outcome))
    assert world.ledger.failures("2026-01-01", 9) == []


def test_an_update_sets_adds_and_removes_and_a_delete_deletes(world: World) -> None:
    setup(world, PUT, COUNT, put(1))
    claimed(world.ledger)
    key = {"pk": "a-1"}
    update = TableWrite("orders", "update", key, sets={"paid": False, "name": "size"}, adds={"count": 10}, removes=("lines", "gone"))
    gone = [TableWrite("orders", "delete", {"pk": name}) for name in ("row-1", "none")]
    assert accepted(write(world, update, COUNT, *gone))
    assert rows(world, ["a-1", "sum", "row-1"]) == [
        {"pk": "a-1", "paid": False, "name": "size", "left": None, "count": 3}, {"pk": "sum", "count": 2}, None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "condition",
    [ABSENT, {"paid": False}, {"paid": 1}, {"count": -8}, {"left": ABSENT}, {"missing": "x"}, {"paid": True, "count": 0}, {"lines": []}],
    ids=repr,
)
def test_one_condition_that_does_not_hold_refuses_the_record_and_every_effect(world: World, condition: Condition) -> None:
    if world.name == "moto" and condition == {"paid": 1}:
        pytest.skip("moto compares true with 1 as Python does")
    setup(world, PUT)
    held = claimed(world.ledger)
    answer = write(world, put(1), COUNT, PUT._replace(item={"pk": "a-1"}, condition=condition), put(2))
    assert isinstance(answer, EffectRefused)
    assert (answer.place, answer.table, answer.key) == (2, "orders", '{"pk":"a-1"}')
    assert stored(world.ledger) == held
    assert rows(world, ["row-1", "row-2", "sum", "a-1"]) == [None, None, None, ROW]
    assert accepted(world.ledger.record([success(state=states.FAILURE)])[0])


@pytest.mark.parametrize(
    "condition",
    [None, {}, {"paid": True}, {"count": -7, "left": None}, {"missing": ABSENT}, {"lines": [{"n": 2, "of": "té"}], "missing": ABSENT}],
    ids=repr,
)
def test_conditions_that_hold_let_all_pass(world: World, condition: Condition) -> None:
    setup(world, PUT)
    claimed(world.ledger)
    assert accepted(write(world, TableWrite("orders", "delete", {"pk": "a-1"}, condition=condition), put(1, condition=ABSENT)))
    assert rows(world, ["a-1", "row-1"]) == [None, {"pk": "row-1"}]


def test_adding_to_what_is_not_a_number_is_refused_whole(world: World) -> None:
    setup(world, PUT)
    held = claimed(world.ledger)
    answer = write(world, put(1), TableWrite("orders", "update", {"pk": "a-1"}, adds={"paid": 1}))
    assert isinstance(answer, EffectRefused)
    assert answer.place == 1
    assert (stored(world.ledger), rows(world, ["row-1", "a-1"])) == (held, [None, ROW])


def test_a_zombies_effects_are_refused_with_its_record(world: World) -> None:
    seen = claimed(world.ledger)
    taken = granted(world.ledger.steal(rival(), seen))
    assert in_the_way(write(world, COUNT)) == taken
    assert rows(world, ["sum"]) == [None]
    assert accepted(write(world, COUNT, outcome=success(rival(), 2)))
    assert in_the_way(write(world, COUNT)) == stored(world.ledger)
    assert rows(world, ["sum"]) == [{"pk": "sum", "count": 1}]


@pytest.mark.parametrize("change", [{"nonce": "c" * 32}, {"fence": 2}])
def test_without_the_holders_nonce_and_fence_nothing_is_written(world: World, change: dict[str, Any]) -> None:
    held = claimed(world.ledger)
    assert in_the_way(write(world, COUNT, outcome=success(**change))) == held
    assert rows(world, ["sum"]) == [None]


def test_a_zombie_is_refused_as_one_also_where_an_effect_is_refused(world: World) -> None:
    setup(world, put(1))
    taken = granted(world.ledger.steal(rival(), claimed(world.ledger)))
    assert in_the_way(write(world, put(1, condition=ABSENT))) == taken


def test_effects_of_a_run_happen_once_however_often_the_call_is_made(world: World) -> None:
    claimed(world.ledger)
    assert [accepted(write(world, COUNT, put(1, condition=ABSENT))) for _ in range(3)] == [True] * 3
    assert rows(world, ["sum"]) == [{"pk": "sum", "count": 1}]


def test_an_own_transaction_is_recognised_when_its_answer_was_lost(world: World) -> None:
    claimed(world.ledger)
    with world.losing("TransactWriteItems"):
        first = write(world, COUNT)
    assert world.is_local or isinstance(first, Unavailable)
    assert accepted(write(world, COUNT))
    assert rows(world, ["sum"]) == [{"pk": "sum", "count": 1}]


def test_a_task_that_was_never_claimed_gets_no_record_and_no_effect(world: World) -> None:
    assert in_the_way(write(world, COUNT)) is None
    assert (world.ledger.read(["task-1"]), rows(world, ["sum"])) == ({}, [None])


def test_without_a_claim_the_first_of_two_runs_has_its_effects(world: World) -> None:
    one, two = success(fence=0), success(rival(), 0)
    assert [accepted(write(world, COUNT, outcome=one, claimed=False)) for _ in range(2)] == [True, True]
    assert in_the_way(write(world, COUNT, outcome=two, claimed=False)) == stored(world.ledger)
    assert rows(world, ["sum"]) == [{"pk": "sum", "count": 1}]


def test_without_a_claim_a_refused_effect_leaves_no_record(world: World) -> None:
    answer = write(world, COUNT, put(1, condition={"a": 1}), outcome=success(fence=0), claimed=False)
    assert isinstance(answer, EffectRefused)
    assert (world.ledger.read(["task-1"]), rows(world, ["sum"])) == ({}, [None])


def test_ninety_nine_effects_fit(world: World) -> None:
    claimed(world.ledger)
    assert accepted(write(world, *map(put, range(99))))
    assert None not in rows(world, [f"row-{number}" for number in range(99)])


def test_a_table_that_the_deployment_does_not_know_is_an_error_with_words(world: World) -> None:
    if world.is_local:
        pytest.skip("every table exists here")
    held = claimed(world.ledger)
    with pytest.raises(ConfigurationError, match="the table secrets is not in SEDANO_TABLES"):
        write(world, COUNT, PUT._replace(table="secrets"))
    assert (stored(world.ledger), rows(world, ["sum"])) == (held, [None])
