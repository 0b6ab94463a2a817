"""Roles that one service takes on, for resources of this account alone; and statements that fit the policies of roles."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

#: The CDK splits a policy that is too large for IAM between its statements only. A managed policy has at most 6 144 characters, and the ARN
#: of a queue at most 125.
MOST_IN_A_STATEMENT = 20


def statements(actions: Sequence[str], arns: Sequence[str], where: Mapping[str, Any] | None = None) -> Iterator[iam.PolicyStatement]:
    """Yield statements that allow `actions` on all of `arns` together, `where` these conditions hold; each is small enough for a policy."""
    for first in range(0, len(arns), MOST_IN_A_STATEMENT):
        some = arns[first : first + MOST_IN_A_STATEMENT]
        yield iam.PolicyStatement(actions=[*actions], resources=[*some], conditions=where)


def role_for(scope: Construct, name: str, service: str, *, local: bool = False) -> iam.Role:
    """Return a role that `service` takes on, such as `scheduler.amazonaws.com`, when it acts for this account.

    *local*: the endpoint on this machine says of no caller which account it acts for.

    Without the condition another account's resource could have the service take on the role, if it knew its ARN (IAM, "The confused
    deputy problem"). EventBridge Scheduler, Glue, EMR Serverless and CodeDeploy document that they send `aws:SourceAccount`. Lambda does
    not for execution roles, and a role cannot be passed to a function of another account: functions keep a plain trust policy.
    """
    ours = None if local else {"StringEquals": {"aws:SourceAccount": Stack.of(scope).account}}
    return iam.Role(scope, name, assumed_by=iam.ServicePrincipal(service, conditions=ours))
