"""The outputs of a deployed stage, as variables that a shell understands and a program reads."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from botocore.exceptions import ClientError

from sedano.deploy.account import AccountError, Target
from sedano.deploy.assembly import settings
from sedano.deploy.command_names import VERBS, Spelling

_STACKS = ("state", "core")


def variables(cloudformation: Any, where: Target, stage: str, spelled: Spelling = VERBS) -> dict[str, str]:
    """Return the variables of *stage*, as the client *cloudformation* finds them, and those that name its Region.

    Raises:
        AccountError: the stage is not deployed there, or these credentials may not read it.
    """
    found: dict[str, str] = {}
    for part in _STACKS:
        try:
            (stack,) = cloudformation.describe_stacks(StackName=f"sedano-{stage}-{part}")["Stacks"]
        except ClientError as error:
            raise AccountError(_why(error, where, stage, spelled)) from error
        found |= settings({one["OutputKey"]: one["OutputValue"] for one in stack.get("Outputs", [])})
    return {**found, "AWS_REGION": where.region, "AWS_DEFAULT_REGION": where.region}


def exports(found: Mapping[str, str]) -> Iterator[str]:
    """Yield a command of a shell for each variable."""
    for name, value in found.items():
        yield f"export {name}={shlex.quote(value)}"


def _why(error: ClientError, where: Target, stage: str, spelled: Spelling) -> str:
    said = error.response["Error"]
    if said["Code"] == "ValidationError":
        place = f"account {where.account} in {where.region}"
        return f"the stage {stage} is not deployed in {place}: run {spelled.deploy} first, or give {spelled.stage} the name of one that is"
    return f"the stage {stage} cannot be looked up ({said['Code']}): its credentials need cloudformation:DescribeStacks"
