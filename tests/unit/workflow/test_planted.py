"""Faults planted into the rule are found out by the same schedules that the shipped rule passes."""

import random
from pathlib import Path
from types import ModuleType

import pytest

from sedano.model import states
from sedano.model.workflow import advance as shipped
from sedano.model.workflow.flow_run import ENDED
from tests.unit.workflow.test_advance import random_definition
from tests.unit.workflow.toy import Rule, Toy

SOURCE = Path(str(shipped.__file__)).read_text(encoding="utf-8")
PLANTED = {
    "the first end is compensated first": ("name = max((", "name = min(("),
    "what has not begun is not revoked": ("    if to_stop:", "    if False:"),
    "compensation does not wait for what runs": ("    if any(_runs(progress, step) for", "    if False and any(_runs(progress, step) for"),
    "compensations run side by side": ("            if state in (RUNNING, RETRYING):\n                return ()\n", ""),
    "a failure is not noticed": ("        if status.state == FAILED:", "        if False:"),
    "what waits for a skipped step is forgotten": ("if progress.status(name).state == SKIPPED:", "if False:"),
    "a step that will be tried again is not stopped": ("states.PENDING, states.RETRY)", "states.PENDING,)"),
    "calls of a map are not stopped": ("calls = list(progress.calls(step).values())", "calls = list[str]()"),
    "a run ends before its last step": ("if all(status.state in DONE", "if any(status.state in DONE"),
    "a step is not begun again": (" or (statuses[name].state == RETRYING and statuses[name].record is None)", ""),
    "a failed compensation is tried for ever": ("            if state == READY:", "            if state in (READY, FAILED):"),
}  # fmt: skip


def planted(before: str, after: str) -> Rule:
    """The rule with one text replaced by another."""
    assert SOURCE.count(before) == 1, f"{before!r} stands {SOURCE.count(before)} times in the rule"
    module = ModuleType("planted")
    exec(compile(SOURCE.replace(before, after), "planted", "exec"), module.__dict__)  # noqa: S102 - it is ours
    module.__dict__.update({name: getattr(shipped, name) for name in ("Publish", "Compensate", "Stop", "WindUp", "End")})
    rule: Rule = module.advance
    return rule


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


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name: str) -> None:
    rule = planted(*PLANTED[name])
    found = next((seed for seed in range(1_000) if fault(rule, seed)), None)
    assert found is not None, f"1 000 schedules did not find: {name}"
    assert fault(shipped.advance, found) == ""
