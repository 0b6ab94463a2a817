"""The grants of a role, or of a policy that you attach to your own role: single actions on named resources."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aws_cdk import aws_iam as iam
from constructs import IConstruct

from ..nag import acknowledge_wildcard
from .role import statements

#: The actions that receiving from a queue needs.
CONSUME = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes")
#: The actions that the local endpoint authorises under another name than AWS: a batch, which is a single call there, and reading a mapping.
_LOCALLY = {
    "sqs:SendMessage": "sqs:SendMessageBatch",
    "sqs:DeleteMessage": "sqs:DeleteMessageBatch",
    "sqs:ChangeMessageVisibility": "sqs:ChangeMessageVisibilityBatch",
    "lambda:GetEventSourceMapping": "lambda:ListEventSourceMappings",
}

#: The actions that effects in the transaction of a record need on a table of the user; a body may read the items of its conditions.
EFFECTS = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"]
#: What a worker does with the ledger and the control table; and, with group commit, with the ledger: claims and records are statements.
TABLES = [f"dynamodb:{action}" for action in ("GetItem", "PutItem", "UpdateItem", "BatchGetItem", "ConditionCheckItem")]
STATEMENTS = ["dynamodb:PartiQLInsert", "dynamodb:PartiQLUpdate"]


class Grants:
    """Adds statements to a role or a policy. *holder* is that construct, *add* its method that takes one."""

    def __init__(self, holder: IConstruct, add: Callable[[iam.PolicyStatement], object], *, local: bool) -> None:
        self._holder, self._add, self._local = holder, add, local

    def allow(self, actions: Sequence[str], *resources: str, where: Mapping[str, Any] | None = None) -> None:
        """Lets the holder call `actions` on `resources` (ARNs), `where` these conditions hold, and on nothing else."""
        named = [*actions, *(other for action, other in _LOCALLY.items() if action in actions and self._local)]
        for statement in statements(named, resources, where):
            self._add(statement)

    def may_pass(self, role: str, to: str) -> None:
        """Lets the holder pass the role of this ARN to the service *to*, such as `scheduler.amazonaws.com`, and to no other."""
        only = {"StringEquals": {"iam:PassedToService": to}}
        self._add(iam.PolicyStatement(actions=["iam:PassRole"], resources=[role], conditions=only))

    def allow_objects(self, actions: Sequence[str], objects: str, reason: str) -> None:
        """Lets the holder call `actions` on `objects` (an ARN that ends in `*`); `reason`: why none can be named.

        The reason is given at the holder: the CDK splits a role's policy that is too large for IAM, and any part may hold the statement.
        """
        self.allow(actions, objects)
        acknowledge_wildcard(self._holder, objects, reason)
