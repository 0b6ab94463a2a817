"""How a program finds a stage that is deployed: the outputs of its stacks, as variables that a shell understands."""

import re
import shlex
from collections.abc import Iterator

import boto3
from botocore.exceptions import ClientError

from .account import AccountError, Target

_STACKS = ("state", "core")
_OURS = re.compile(r"Sedano\w+")
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")


def exports(session: boto3.Session, where: Target, stage: str) -> Iterator[str]:
    """Yield a line for each variable of *stage*, and those that name its Region.

    Raises:
        AccountError: the stage is not deployed there, or these credentials may not look.
    """
    cloudformation = session.client("cloudformation", region_name=where.region)
    for part in _STACKS:
        try:
            (stack,) = cloudformation.describe_stacks(StackName=f"sedano-{stage}-{part}")["Stacks"]
        except ClientError as error:
            raise AccountError(_why(error, where, stage)) from error
        for output in stack.get("Outputs", []):
            if _OURS.fullmatch(output["OutputKey"]):
                yield _line(_WORDS.sub("_", output["OutputKey"]).upper(), output["OutputValue"])
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        yield _line(name, where.region)


def _line(name: str, value: str) -> str:
    return f"export {name}={shlex.quote(value)}"


def _why(error: ClientError, where: Target, stage: str) -> str:
    said = error.response["Error"]
    if said["Code"] == "ValidationError":
        place = f"account {where.account} in {where.region}"
        return f"the stage {stage} is not deployed in {place}: run `make deploy` first, or give STAGE= the name of one that is"
    return f"the stage {stage} cannot be looked up ({said['Code']}): its credentials need cloudformation:DescribeStacks"
