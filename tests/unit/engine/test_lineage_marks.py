"""Budgets above the ceiling: which are taken, which are reduced, and what a program without keys may ask for."""

from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.lineage_marks import granted, marked, require_grant, resumed
from sedano.errors import OptionError
from sedano.model.messages.lineage import DEFAULT_BUDGET, Lineage
from sedano.ports import Ports
from tests.unit.engine.test_pacing import without_keys

MOST = 100


def stage() -> Ports:
    """A stage with a ceiling below the default budget."""
    return replace(memory.ports(), most_budget=MOST)


def capped(ports: Ports) -> list[dict[str, Any]]:
    """What was logged of budgets that were reduced."""
    telemetry: Any = ports.telemetry
    lines = [line for line in telemetry.lines if line.message.startswith("a budget above")]
    assert telemetry.counted("BudgetsCapped") == len(lines)
    return [dict(line.fields) for line in lines]


def test_up_to_the_ceiling_no_mark_is_asked_for() -> None:
    ports = stage()
    assert granted(ports, Lineage(budget=MOST), "t", "n") == Lineage(budget=MOST)
    assert granted(ports, Lineage(budget=MOST, mark="wrong"), "t", "n") == Lineage(budget=MOST, mark="wrong")
    assert marked(ports, Lineage(budget=MOST), "t", "n").mark == ""
    assert capped(ports) == []


def test_above_the_ceiling_a_mark_counts_for_its_own_task_name_and_budget() -> None:
    ports = stage()
    proven = marked(ports, Lineage(budget=MOST + 1), "t", "n")
    assert granted(ports, proven, "t", "n") == proven
    for other in (("other", "n"), ("t", "other")):
        assert granted(ports, proven, *other) == Lineage(budget=MOST)
    assert granted(ports, proven._replace(budget=MOST + 2), "t", "n") == Lineage(budget=MOST)
    assert capped(ports)[0] == {"task_id": "other", "budget": MOST + 1, "most": MOST}


def test_the_budget_of_a_sender_who_asked_for_none_is_reduced_without_a_word() -> None:
    ports = stage()
    assert granted(ports, Lineage(budget=DEFAULT_BUDGET), "t", "n").budget == MOST
    assert capped(ports) == []


@pytest.mark.parametrize(
    ("own", "budget", "gets", "is_told"),
    [(50, 70, 70, False), (50, MOST, MOST, False), (50, MOST + 1, MOST, True), (200, 200, 200, False), (200, 201, 200, True),
     (50, DEFAULT_BUDGET, MOST, False)],
)  # fmt: skip
def test_a_plan_gives_no_more_than_the_ceiling_or_its_messages_own_budget(own: int, budget: int, gets: int, is_told: bool) -> None:
    ports = stage()
    assert resumed(ports, Lineage("r", "p", 1, own), 7, budget, "t") == Lineage("r", "p", 7, gets)
    assert capped(ports) == ([{"task_id": "t", "budget": budget, "most": max(own, MOST)}] if is_told else [])


@pytest.mark.parametrize("budget", [1, MOST, DEFAULT_BUDGET])
def test_without_keys_a_program_may_ask_for_the_ceiling(budget: int) -> None:
    require_grant(without_keys(stage()), budget)


def test_above_the_ceiling_a_program_needs_the_keys() -> None:
    require_grant(stage(), MOST + 1)
    with pytest.raises(OptionError, match=f"{MOST + 1} is more than {MOST}"):
        require_grant(without_keys(stage()), MOST + 1)
