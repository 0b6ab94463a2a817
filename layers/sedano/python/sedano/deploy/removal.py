"""Deletes the stacks of a stage, each before those that it depends on, and empties the buckets that would be deleted with them.

A resource that its template keeps (production's data) is kept, and its bucket is not emptied.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sedano.deploy import states
from sedano.deploy.account import STACKS
from sedano.deploy.buckets import emptied
from sedano.deploy.clients import DEPLOY_ROLE, Clients, Say
from sedano.deploy.failure import DeployError
from sedano.deploy.progress import StackProgress
from sedano.deploy.stack_events import described, follow, newest

_BUCKET = "AWS::S3::Bucket"
_KEEPS = ("Retain", "RetainExceptOnCreate")


class Removal(NamedTuple):
    """The existing stacks of a stage in the order of their deletion, the resources that are kept, and the buckets that are emptied."""

    stacks: tuple[str, ...]
    kept: tuple[str, ...]
    buckets: tuple[str, ...]


def planned(clients: Clients, stage: str) -> Removal:
    """Return what deleting *stage* would delete and keep.

    Raises:
        DeployError: the stage does not exist, a stack is protected from deletion, or CloudFormation is at work on it.
    """
    cloudformation = clients.client("cloudformation", DEPLOY_ROLE)
    there = {name: found for part in reversed(STACKS) if (found := described(cloudformation, name := f"sedano-{stage}-{part}"))}
    if not there:
        place = f"account {clients.where.account} in {clients.where.region}"
        raise DeployError(f"the stage {stage} is not deployed in {place}: give --stage the name of one that is")
    refused = [reason for name, found in there.items() if (reason := _refusal(name, found))]
    if refused:
        raise DeployError("; ".join(refused))
    kept: list[str] = []
    buckets: list[str] = []
    for name, found in there.items():
        if not states.is_new(found["StackStatus"]):
            stays, goes = _resources(cloudformation, name)
            kept, buckets = kept + stays, buckets + goes
    return Removal(tuple(there), tuple(kept), tuple(buckets))


def remove(clients: Clients, removal: Removal, say: Say, sleep: Callable[[float], None] = time.sleep) -> None:
    """Empty the buckets and delete the stacks.

    Raises:
        DeployError: a stack cannot be deleted, with CloudFormation's reasons.
    """
    for bucket in removal.buckets:
        say(f"{bucket}  {emptied(clients.client('s3'), bucket)} objects deleted")
    cloudformation = clients.client("cloudformation", DEPLOY_ROLE)
    for name in removal.stacks:
        found = described(cloudformation, name)
        if found is not None:
            progress = StackProgress(name, _count(cloudformation, name))
            seen = newest(cloudformation, name)
            cloudformation.delete_stack(StackName=name)
            status = follow(cloudformation, found["StackId"], progress, seen, say, sleep)
            if status != states.GONE:
                reasons = "; ".join(progress.failures) or "its events in the CloudFormation console name the reason"
                raise DeployError(f"{name} ended as {status}: {reasons}; correct that, then `sedano destroy` again")


def _refusal(name: str, found: dict[str, Any]) -> str:
    """Return why a stack cannot be deleted now; empty when it can."""
    if found.get("EnableTerminationProtection"):
        return states.protected(name)
    if states.is_busy(found["StackStatus"]):
        return f"{name} is {found['StackStatus']}: wait until that has ended, then `sedano destroy` again"
    return ""


def _resources(cloudformation: Any, name: str) -> tuple[list[str], list[str]]:
    """Return the resources of a stack that its template keeps, and the buckets that it does not keep."""
    body = cloudformation.get_template(StackName=name)["TemplateBody"]
    template = json.loads(body) if isinstance(body, str) else body
    keeps = {logical for logical, one in template["Resources"].items() if one.get("DeletionPolicy") in _KEEPS}
    summaries = list(_summaries(cloudformation, name))
    kept = [f"{one['ResourceType']} {one['PhysicalResourceId']}" for one in summaries if one["LogicalResourceId"] in keeps]
    buckets = [one for one in summaries if one["ResourceType"] == _BUCKET and one["LogicalResourceId"] not in keeps]
    return kept, [one["PhysicalResourceId"] for one in buckets]


def _summaries(cloudformation: Any, name: str) -> Iterator[dict[str, Any]]:
    """Yield the existing resources of a stack."""
    for page in cloudformation.get_paginator("list_stack_resources").paginate(StackName=name):
        yield from (one for one in page["StackResourceSummaries"] if one.get("PhysicalResourceId"))


def _count(cloudformation: Any, name: str) -> int:
    return sum(1 for _ in _summaries(cloudformation, name))
