"""The changes that a deployment would make, from CloudFormation's change sets or from two templates, and a few lines about them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Action = Literal["add", "modify", "remove"]
_ACTIONS: Mapping[str, Action] = {"Add": "add", "Modify": "modify", "Remove": "remove"}
_SIGNS: Mapping[Action, str] = {"add": "+", "modify": "~", "remove": "-"}
#: What happens to a resource, by CloudFormation's value of its replacement.
_REPLACED = {"True": "replaced", "Conditional": "replaced if a value changes"}
#: Resources that contain data. The loss of each gets a line of its own.
HOLD_DATA = frozenset({
    "AWS::DynamoDB::GlobalTable", "AWS::DynamoDB::Table", "AWS::KMS::Key", "AWS::Kinesis::Stream", "AWS::Logs::LogGroup", "AWS::S3::Bucket",
    "AWS::SQS::Queue", "AWS::Scheduler::ScheduleGroup",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class ResourceChange:
    """The change of one resource: its type (`kind`) and name, and whether it is replaced.

    *replacement*: `True`, `False`, `Conditional`, or empty where CloudFormation does not say.
    """

    action: Action
    kind: str
    name: str
    replacement: str = ""


@dataclass(frozen=True, slots=True)
class StackChanges:
    """The changes of one stack; *new*: it does not exist yet. *estimated*: computed from two templates, because no change set could be
    made."""

    stack: str
    changes: tuple[ResourceChange, ...]
    new: bool = False
    estimated: bool = False


def of_change_set(described: Iterable[Mapping[str, Any]]) -> tuple[ResourceChange, ...]:
    """Return the changes that CloudFormation describes of a change set."""
    found = [one["ResourceChange"] for one in described if one.get("Type", "Resource") == "Resource"]
    return tuple(
        ResourceChange(_ACTIONS[one["Action"]], one["ResourceType"], one["LogicalResourceId"], one.get("Replacement", ""))
        for one in found
        if one["Action"] in _ACTIONS
    )


def of_templates(before: str, after: str) -> tuple[ResourceChange, ...]:
    """Return how the resources of the template *after* differ from those of *before*; an empty text means that the stack does not exist."""
    old, new = _resources(before), _resources(after)
    return (
        *(ResourceChange("add", one["Type"], name) for name, one in new.items() if name not in old),
        *(ResourceChange("modify", one["Type"], name) for name, one in new.items() if name in old and old[name] != one),
        *(ResourceChange("remove", one["Type"], name) for name, one in old.items() if name not in new),
    )


def _resources(template: str) -> Mapping[str, Any]:
    """Return the resources of *template*, without the notes of the CDK about itself."""
    found: Mapping[str, Any] = json.loads(template).get("Resources", {}) if template else {}
    bare = {name: {key: value for key, value in one.items() if key != "Metadata"} for name, one in found.items()}
    return {name: one for name, one in bare.items() if one["Type"] != "AWS::CDK::Metadata"}


def lines(plan: Sequence[StackChanges], *, every: bool = False) -> Iterator[str]:
    """Yield a line for each stack, and one for each resource that is lost or replaced together with its data; *every*: for all
    resources."""
    width = max((len(one.stack) for one in plan), default=0)
    for one in plan:
        yield f"{one.stack:<{width}}  {_counted(one)}"
        for change in one.changes:
            if every or _is_grave(change):
                yield f"  {_SIGNS[change.action]} {change.kind} {change.name}{_also(change)}"


def is_empty(plan: Iterable[StackChanges]) -> bool:
    """Return whether nothing would change."""
    return not any(one.new or one.changes for one in plan)


def as_data(plan: Iterable[StackChanges]) -> list[dict[str, Any]]:
    """Return the plan as values for JSON."""
    return [
        {
            "stack": one.stack,
            "new": one.new,
            "estimated": one.estimated,
            "changes": [
                {"action": each.action, "type": each.kind, "name": each.name, "replacement": each.replacement} for each in one.changes
            ],
        }
        for one in plan
    ]


def _counted(one: StackChanges) -> str:
    if not one.new and not one.changes:
        return "no change"
    counts = {action: sum(each.action == action for each in one.changes) for action in _SIGNS}
    parts = "  ".join(f"{_SIGNS[action]}{number}" for action, number in counts.items() if number)
    note = " (new stack)" if one.new else " (estimated from the templates until the stacks before it are deployed)"
    return f"{parts}{note if one.new or one.estimated else ''}"


def _is_grave(change: ResourceChange) -> bool:
    return change.kind in HOLD_DATA and (change.action == "remove" or change.replacement in _REPLACED)


def _also(change: ResourceChange) -> str:
    return f" ({_REPLACED[change.replacement]})" if change.replacement in _REPLACED else ""
