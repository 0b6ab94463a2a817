"""Checks an account and a deployed stage for `sedano doctor`: credentials, clock, stacks, settings, and the version of the library."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from sedano.deploy import states
from sedano.deploy.account import AccountError, Target, target
from sedano.views.findings import FAULT, OK, WARNING, Finding

GOOD_CLOCK_S, SIGNED_S = 2.0, 240.0
"""The offset of this machine's clock (s) up to which there is no warning, and the one near which AWS refuses signatures: it does after 300
s."""
PARTS: Mapping[str, bool] = {"state": True, "core": True, "observability": False, "pipeline": False}
"""The stacks of a stage, and whether it needs each."""
NO_ACCOUNT = "correct that, then run `sedano doctor` again; `sedano doctor --local` checks this machine alone and needs no AWS"
"""The remedy if the credentials lead to no account: then nothing of a stage can be checked."""
LIBRARY = "sedano "
"""How the description of the library's layer begins; its version follows."""


def credentials(session: boto3.Session, stage: str, region: str | None, account: str | None) -> tuple[Target | None, Finding]:
    """Return the target of the credentials, None if they have none, and the finding about them."""
    try:
        where = target(session, stage, region, account)
    except AccountError as wrong:
        return None, Finding("credentials", FAULT, str(wrong), NO_ACCOUNT)
    return where, Finding("credentials", OK, f"account {where.account}, Region {where.region}")


def clock(sts: Any, now: Callable[[], float]) -> Finding:
    """Return the finding about this machine's clock, which *now* reads, compared with the date of a response of AWS."""
    before = now()
    try:
        answer = sts.get_caller_identity()
    except (ClientError, BotoCoreError) as error:
        return Finding("clock", WARNING, f"AWS did not answer: {error}", "try again later")
    after = now()
    date = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    if not date:
        return Finding("clock", WARNING, "the answer of AWS has no date, so the clock was not compared", "compare it with another machine")
    offset = least_offset(before, after, parsedate_to_datetime(date).timestamp())
    if abs(offset) <= GOOD_CLOCK_S:
        return Finding("clock", OK, f"is within {GOOD_CLOCK_S + 1:g} s of AWS's")
    found = f"is {abs(offset):.0f} s {'ahead of' if offset > 0 else 'behind'} AWS's"
    do = "set it, and run a time service such as chrony"
    return Finding("clock", FAULT if abs(offset) >= SIGNED_S else WARNING, found, do)


def least_offset(before: float, after: float, date: float) -> float:
    """Return by how many seconds this machine's clock is at least ahead (negative: behind); 0.0 if the two clocks may agree.

    Args:
        before: this machine's time when the request was sent (epoch s).
        after: this machine's time when the response arrived.
        date: the other clock's time in between, cut to whole seconds.
    """
    return max(before - (date + 1), 0.0) + min(after - date, 0.0)


def stacks(cloudformation: Any, where: Target, stage: str) -> Iterator[Finding]:
    """Yield the finding about each stack of *stage*."""
    for part, is_needed in PARTS.items():
        name = f"sedano-{stage}-{part}"
        try:
            (stack,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
        except ClientError as error:
            yield _no_stack(error, name, where, stage, is_needed=is_needed)
            continue
        status = str(stack["StackStatus"])
        if states.is_good(status):
            yield Finding(f"stack {name}", OK, status)
        elif refusal := states.refusal(name, status):
            yield Finding(f"stack {name}", WARNING if states.is_busy(status) else FAULT, refusal, "follow it in the CloudFormation console")
        else:
            yield Finding(f"stack {name}", WARNING, f"{status}: its last deployment was undone", "run `sedano deploy` again")


def shell(found: Mapping[str, str], environment: Mapping[str, str]) -> Finding:
    """Return whether the variables in *environment* are those of the stage's outputs, *found*."""
    given = {name: environment[name] for name in found if name.startswith("SEDANO_") and environment.get(name)}
    other = sorted(name for name, value in given.items() if value != found[name])
    if other:
        return Finding("variables", WARNING, f"{', '.join(other)} of this shell differ from the stage's", 'run `eval "$(sedano outputs)"`')
    if not given:
        needed = 'a program gets them by `eval "$(sedano outputs)"`'
        return Finding("variables", OK, f"the stage has {len(found)} and this shell sets none; {needed}")
    return Finding("variables", OK, f"the {len(given)} of this shell are those of the stage")


def library(cloudformation: Any, functions: Any, stage: str, version: str) -> Finding:
    """Return whether the functions of *stage* have the *version* of the library that this machine has."""
    do = f"install sedano in the version of the stage, or run `sedano deploy --stage {stage}` to give it {version}"
    try:
        layers = _layers_of_the_worker(cloudformation, functions, f"sedano-{stage}-core")
        described = [str(functions.get_layer_version(LayerName=name, VersionNumber=int(number)).get("Description", ""))
                     for name, number in layers]  # fmt: skip
    except (ClientError, BotoCoreError) as error:
        right = "ask for lambda:GetFunctionConfiguration and lambda:GetLayerVersion"
        return Finding("library", WARNING, f"the version of the stage's layer cannot be read: {error}", right)
    named = sorted({text.removeprefix(LIBRARY) for text in described if text.startswith(LIBRARY)})
    if not named:
        return Finding("library", WARNING, "the stage's layers name no version: an older sedano deployed them", do)
    if named != [version]:
        return Finding("library", WARNING, f"the stage runs sedano {', '.join(named)} and this machine has {version}", do)
    return Finding("library", OK, f"the stage runs sedano {version}, as this machine does")


def _layers_of_the_worker(cloudformation: Any, functions: Any, stack: str) -> list[list[str]]:
    """Return the names and versions of the library's layers that the worker's function has."""
    pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack)
    listed = [one for page in pages for one in page["StackResourceSummaries"] if one["ResourceType"] == "AWS::Lambda::Function"]
    worker = next((one["PhysicalResourceId"] for one in listed if one["LogicalResourceId"].startswith("Worker")), None)
    if worker is None:
        return []
    arns = [str(one["Arn"]) for one in functions.get_function_configuration(FunctionName=worker).get("Layers", [])]
    return [named for arn in arns if "Library" in (named := arn.split(":")[-2:])[0]]


def _no_stack(error: ClientError, name: str, where: Target, stage: str, *, is_needed: bool) -> Finding:
    code = error.response["Error"]["Code"]
    if code != "ValidationError":
        do = "ask for cloudformation:DescribeStacks"
        return Finding(f"stack {name}", WARNING, f"cannot be looked up ({code})", do)
    if is_needed:
        found = f"is not deployed in account {where.account} in {where.region}"
        return Finding(f"stack {name}", FAULT, found, f"run `sedano deploy --stage {stage}`, or name a deployed stage with --stage")
    return Finding(f"stack {name}", OK, "is not deployed, and tasks run without it")
