"""Faults planted into the rule of workflows: the rule with one text replaced by another."""

from pathlib import Path
from types import ModuleType

from sedano.model.workflow import next_actions as shipped
from tests.unit.workflow.toy import Rule

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
    "a paused run goes on": ("    if run.state == PAUSED:", "    if False:"),
    "what was left undone is not told": (", uncompensated(progress)),)", "),)"),
    "a failed compensation is tried for ever": ("            if state == READY:", "            if state in (READY, FAILED):"),
}  # fmt: skip
OPERATED = ("a paused run goes on", "what was left undone is not told")
"""Those that only schedules with an operator find out (`tests.simulation.flow_mutants`)."""


def planted_rule(before: str, after: str) -> Rule:
    """The rule with one text replaced by another."""
    assert SOURCE.count(before) == 1, f"{before!r} stands {SOURCE.count(before)} times in the rule"
    module = ModuleType("planted")
    exec(compile(SOURCE.replace(before, after), "planted", "exec"), module.__dict__)  # noqa: S102 - it is ours
    module.__dict__.update({name: getattr(shipped, name) for name in ("Publish", "Compensate", "Stop", "WindUp", "End")})
    rule: Rule = module.advance
    return rule
