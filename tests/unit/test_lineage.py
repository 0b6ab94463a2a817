"""Descendants never exceed what the root was given, spawning ends, and derived ids are the same ids and nobody else's."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import BudgetExhausted, HopLimit
from sedano.model.messages.lineage import (
    DEFAULT_BUDGET,
    MAX_HOPS,
    ROOT,
    TRIED,
    Lineage,
    began,
    begun_id,
    dedup_id,
    derived_id,
    descend,
    rerun_id,
    result_document_id,
    tried_id,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(["a", "a/1", "1:a", "dedup/1:a", "follow/1:a"])
positions = st.integers(0, 200) | texts


@given(texts, positions, texts, positions)
def test_a_derived_id_is_the_same_again_and_differs_for_any_other_parent_or_position(parent, position, other, elsewhere):
    mine, its = derived_id(parent, position), derived_id(other, elsewhere)
    assert mine == derived_id(parent, position)
    assert str(UUID(mine)) == mine
    assert (mine == its) == ((parent, str(position)) == (other, str(elsewhere)))


@given(texts, texts, texts, texts)
def test_a_deduplication_key_belongs_to_its_task_and_is_no_follow_up(task, key, other, another):
    assert (dedup_id(task, key) == dedup_id(other, another)) == ((task, key) == (other, another))
    assert dedup_id(task, key) != derived_id(other, another)


def test_a_follow_up_knows_its_root_its_parent_and_its_depth():
    child = descend("t1", ROOT, 1)
    assert child == Lineage("t1", "t1", 1, DEFAULT_BUDGET - 1)
    assert descend("t2", child, 1) == Lineage("t1", "t2", 2, DEFAULT_BUDGET - 2)


@given(st.integers(0, 60), st.lists(st.integers(0, 12), min_size=1, max_size=30))
def test_all_descendants_together_never_exceed_the_budget_of_the_root(budget, wishes):
    """Every task publishes as often as the wishes say, for as long as its budget lets it."""
    waiting, born = [Lineage("r", "r", 0, budget)], 0
    for wish in wishes * 4:
        if not waiting:
            break
        parent = waiting.pop(0)
        if wish > parent.budget:
            with pytest.raises(BudgetExhausted, match=f"{wish} follow-ups are more than the {parent.budget}"):
                descend("t", parent, wish)
            continue
        children = [descend("t", parent, wish)] * wish
        assert wish + sum(child.budget for child in children) <= parent.budget
        waiting += children
        born += wish
    assert born + sum(lineage.budget for lineage in waiting) <= budget


def test_a_task_that_publishes_itself_ends_after_128_hops():
    lineage = Lineage(budget=10**6)
    for _ in range(MAX_HOPS):
        lineage = descend("t", lineage, 1)
    assert lineage.hops == MAX_HOPS
    with pytest.raises(HopLimit, match="128 dynamic spawns since the root t; the limit is 128"):
        descend("t", lineage, 1)


def test_a_task_that_publishes_itself_twice_ends_after_its_budget():
    waiting, born = [ROOT], 0
    while waiting:
        parent = waiting.pop()
        if parent.budget >= 2:
            waiting += [descend("t", parent, 2)] * 2
            born += 2
    assert born <= DEFAULT_BUDGET


def test_the_last_descendant_may_be_caused_but_causes_none():
    (last,) = {descend("t", Lineage(budget=3), 3)}
    assert last.budget == 0
    with pytest.raises(BudgetExhausted, match=r"^budget: "):
        descend("t", last, 1)


def test_the_ids_of_a_rerun_and_of_a_canvas_follow_from_the_tasks_id():
    assert rerun_id("task") == derived_id("task", "rerun")
    assert begun_id("task", "0.1", "plan") == derived_id("task", "begun/3:0.1/plan")


def test_the_id_of_another_attempt_names_the_message_that_began():
    begun = begun_id("task", "0", "plan")
    assert began(tried_id(begun, 3), 3) == begun


@pytest.mark.parametrize(
    "tried",
    [begun_id("t", "0", "p"), tried_id(begun_id("t", "0", "p"), 2), f"{begun_id('t', '0', 'p')}{TRIED}03", f"no-id{TRIED}3",
     f"6ba7b810-9dad-41d1-80b4-00c04fd430c8{TRIED}3", f"{begun_id('t', '0', 'p').upper()}{TRIED}3", f"{TRIED}3", ""],
)  # fmt: skip
def test_any_other_id_names_none(tried):
    assert began(tried, 3) == ""


def test_a_task_that_publishes_nothing_gives_no_budget_away():
    assert descend("t", Lineage(budget=7), 0).budget == 0


def test_the_document_of_a_task_has_the_same_id_in_every_version():
    assert result_document_id("task") == derived_id("task", "document") == "e590f9a3-4716-5691-ada0-ca73bbe9ab23"
