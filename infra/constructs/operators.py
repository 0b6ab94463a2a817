"""The rights of people on a stage: view it, operate it, administer it. One table of actions, by the kind of resource.

The library calls these from `sedano web`, `sedano top` and the verbs of the command line. A test makes every call and compares
(`tests/infra/test_operators.py`).
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from aws_cdk import aws_iam as iam

from .role import statements

Actions = Mapping[str, Sequence[str]]

VIEWER: Actions = MappingProxyType({
    "ledger": ("dynamodb:GetItem", "dynamodb:BatchGetItem"), "control": ("dynamodb:GetItem", "dynamodb:BatchGetItem"),
    "members": ("dynamodb:Query",), "rollups": ("dynamodb:Query",), "failures": ("dynamodb:Query",), "history": ("s3:ListBucket",),
    "events": ("s3:GetObject",), "blobs": ("s3:ListBucket",), "values": ("s3:GetObject",), "commands": ("sqs:GetQueueAttributes",),
    "parked": ("sqs:GetQueueAttributes",), "timers": ("scheduler:GetSchedule",), "stacks": ("cloudformation:DescribeStacks",),
    "metrics": ("cloudwatch:GetMetricData",),
})  # fmt: skip
"""Pages, lists, one task with its result, the ages of queues, and finding the stage by its name.

GetMetricData has no resources in IAM: a grant of it is one for all metrics of the account, which are numbers without any content.
"""
OPERATOR: Actions = MappingProxyType({
    "ledger": ("dynamodb:UpdateItem",), "settings": ("dynamodb:UpdateItem",), "values": ("s3:PutObject",), "commands": ("sqs:SendMessage",),
    "topics": ("sqs:SendMessage",), "records": ("sqs:SendMessage",),
    "parked": ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"), "timers": ("scheduler:DeleteSchedule",),
    "keys": ("ssm:GetParameter",),
})  # fmt: skip
"""Also: retry, revoke, pause, resume, limit, redrive, trigger; each is a record for the history."""
ADMIN: Actions = MappingProxyType({
    "control": ("dynamodb:UpdateItem",), "commands": ("sqs:ReceiveMessage", "sqs:DeleteMessage"),
})  # fmt: skip
"""Also: release a lock in place of its holder, and purge a queue."""
SETTINGS_KEYS = ("CONTROL", "AGENDA#*", "MEMO#*")
"""The keys of the control table that an operator writes: pauses and limits, schedules, and circuits. Leases have others."""


def allowed(actions: Actions, arns: Mapping[str, Sequence[str]]) -> Iterator[iam.PolicyStatement]:
    """Yield statements that allow *actions* on the resources of each kind in *arns*."""
    for kind, names in actions.items():
        yield from statements(names, arns[kind], _narrowed(kind))


def _narrowed(kind: str) -> Mapping[str, Any] | None:
    """Return the condition on a call; of a call without keys `ForAllValues` alone would hold (IAM, "Multivalued context keys")."""
    leading = "dynamodb:LeadingKeys"
    return {"ForAllValues:StringLike": {leading: [*SETTINGS_KEYS]}, "Null": {leading: "false"}} if kind == "settings" else None
