"""Faults planted into the rule are found out by the same schedules that the shipped rule passes."""

import random

import pytest

from sedano.model import states
from sedano.model.workflow import next_actions as shipped
from sedano.model.workflow.flow_run import ENDED
from tests.unit.workflow.planted import OPERATED, PLANTED, planted_rule
from tests.unit.workflow.test_advance import random_definition
from tests.unit.workflow.toy import Rule, Toy


def fault(rule: Rule, seed: int) -> str:
    """What is wrong with the schedule of this seed; nothing is the empty text."""
    dice = random.Random(seed)
    toy = Toy(random_definition(dice), dice, odds=dice.choice([0.0, 0.05, 0.3]), rule=rule)
    try:
        if dice.random() < 0.4:
            for _ in range(dice.randint(0, 25)):
                toy.move()
            toy.cancel()
        toy.play(2_000)
    except AssertionError as endless:
        return str(endless)
    with_one = {s.name for s in toy.definition.steps if s.compensation is not None}
    wanted = toy.run.state == "CANCELLED" or (toy.run.state == "FAILED" and toy.definition.on_failure == "compensate")
    expected = [n for n in dict.fromkeys(name.partition("[")[0] for name in reversed(toy.well)) if n in with_one] if wanted else []
    statuses = {s.state for s in toy.progress().statuses().values()}
    open_ends = [record for record in toy.records.values() if record.state not in states.TERMINAL]
    ended = toy.run.state in ENDED and not open_ends and (toy.run.state != "FAILED" or "FAILED" in statuses)
    whole = toy.run.state != "SUCCEEDED" or statuses <= {"SUCCEEDED", "SKIPPED"}
    wrong = [*toy.violations, *(["undone otherwise"] if toy.undone != expected else []), *([] if ended and whole else ["not ended"])]
    return "; ".join(wrong)


@pytest.mark.parametrize("name", [name for name in PLANTED if name not in OPERATED])
def test_a_planted_fault_is_found(name: str) -> None:
    rule = planted_rule(*PLANTED[name])
    found = next((seed for seed in range(1_000) if fault(rule, seed)), None)
    assert found is not None, f"1 000 schedules did not find: {name}"
    assert fault(shipped.advance, found) == ""
