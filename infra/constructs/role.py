"""Roles that one service assumes, only for resources of this account; and statements that fit the policies of roles."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

#: The CDK splits a policy that is too large for IAM between its statements only. A managed policy has at most 6 144 characters, and the ARN
#: of a queue at most 125.
MOST_IN_A_STATEMENT = 20
#: Characters of a managed policy, without white space, and those around its statements (IAM and STS quotas).
MOST_IN_A_POLICY, AROUND = 6_144, len('{"Version":"2012-10-17","Statement":[]}')
#: How long the value of a reference is at most: the ARN of a queue. Those of the pseudo parameters are shorter.
_LONGEST, _PSEUDO = 125, {"AWS::Partition": len("aws-us-gov"), "AWS::Region": len("ap-southeast-1"), "AWS::AccountId": 12}


def statements(actions: Sequence[str], arns: Sequence[str], where: Mapping[str, Any] | None = None) -> Iterator[iam.PolicyStatement]:
    """Yield statements that allow `actions` on all of `arns` together, `where` these conditions hold; each is small enough for a policy."""
    for first in range(0, len(arns), MOST_IN_A_STATEMENT):
        some = arns[first : first + MOST_IN_A_STATEMENT]
        yield iam.PolicyStatement(actions=[*actions], resources=[*some], conditions=where)


def in_policies(scope: Construct, given: Sequence[iam.PolicyStatement]) -> list[list[iam.PolicyStatement]]:
    """Return the statements *given* in as few managed policies as hold them, in order; the CDK splits the policies of roles alone."""
    found: list[list[iam.PolicyStatement]] = [[]]
    taken = AROUND
    for statement in given:
        size = _length(Stack.of(scope).resolve(statement.to_json())) + 1
        if found[-1] and taken + size > MOST_IN_A_POLICY:
            found.append([])
            taken = AROUND
        found[-1].append(statement)
        taken += size
    return found


def _length(value: object) -> int:
    """Return how many characters *value* has at most in a policy, when its references have their values."""
    match value:
        case {"Ref": str(name)}:
            return _PSEUDO.get(name, _LONGEST)
        case {"Fn::GetAtt": _} | {"Fn::ImportValue": _} | {"Fn::Sub": _}:
            return _LONGEST
        case {"Fn::Join": [str(between), [*parts]]}:
            return sum(map(_length, parts)) + len(between) * max(0, len(parts) - 1) + 2
        case dict():
            return 2 + sum(len(str(name)) + 4 + _length(one) for name, one in value.items())
        case list():
            return 2 + sum(_length(one) + 1 for one in value)
    return len(str(value)) + 2


def role_for(scope: Construct, name: str, service: str, *, local: bool = False) -> iam.Role:
    """Return a role that `service` assumes, such as `scheduler.amazonaws.com`, when it acts for this account.

    *local*: the endpoint on this machine does not report the account that a caller acts for.

    Without the condition another account's resource could make the service assume the role, if it had its ARN (IAM, "The confused
    deputy problem"). EventBridge Scheduler, Glue, EMR Serverless and CodeDeploy document that they send `aws:SourceAccount`. Lambda does
    not for execution roles, and a role cannot be passed to a function of another account: functions keep a plain trust policy.
    """
    ours = None if local else {"StringEquals": {"aws:SourceAccount": Stack.of(scope).account}}
    return iam.Role(scope, name, assumed_by=iam.ServicePrincipal(service, conditions=ours))
