"""Checks the stage that a deployment would change: whether it runs another application, and whether queues with messages would be deleted.

A caller without the right to check may still deploy. A new stage has nothing to lose.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from sedano.deploy.account import AccountError, Target
from sedano.deploy.command_names import VERBS, Spelling

#: How the messages of a queue are counted: those that wait, that are worked on, and that are delayed.
COUNTED = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed")


class DeployedStage(NamedTuple):
    """A stage as it is deployed: its *app* (`module:attribute`), and the addresses of its command queues by name.

    *begin*: the addresses without the name at their end; empty if an earlier version let CloudFormation name the queues.
    """

    app: str
    queues: Mapping[str, str]
    begin: str = ""


def standing(session: boto3.Session, where: Target, stage: str) -> DeployedStage | None:
    """Return the deployed stage of this name; None if it is not deployed, or if these credentials may not read it."""
    cloudformation = session.client("cloudformation", region_name=where.region)
    try:
        (stack,) = cloudformation.describe_stacks(StackName=f"sedano-{stage}-core")["Stacks"]
    except ClientError:
        return None
    outputs = {one["OutputKey"]: one["OutputValue"] for one in stack.get("Outputs", [])}
    if "SedanoApp" not in outputs:
        return None
    place = outputs.get("SedanoEventsQueue", "").rpartition("/")[0]
    return _standing(outputs["SedanoApp"], json.loads(outputs.get("SedanoQueues", "{}")), place)


def _standing(app: str, queues: Mapping[str, Any], place: str) -> DeployedStage:
    """Return the stage of *app* with the *queues* of its output: names by their common prefix, or addresses by name."""
    begin, names = next(iter(queues.items()), ("", ""))
    if isinstance(names, list):
        return DeployedStage(app, {name: f"{place}/{begin}{name}" for name in names}, f"{place}/{begin}")
    return DeployedStage(app, queues)


def require_same(found: DeployedStage, stage: str, app: str, spelled: Spelling = VERBS) -> None:
    """Refuse to deploy *app* over another application.

    Raises:
        AccountError: another one is deployed there.
    """
    if found.app != app:
        raise AccountError(
        f"app: the stage {stage} runs {found.app}, and {app} would replace it, with its queues ({', '.join(found.queues)}), "
        f"tables and history: give another {spelled.stage}, or add {spelled.setting('replace=true')} to replace it"
        )


def require_empty(
    session: boto3.Session, where: Target, found: DeployedStage, queues: Iterable[str], spelled: Spelling = VERBS
) -> None:
    """Refuse to remove a queue that *queues* no longer names while messages are in it or in its dead letters.

    A queue that CloudFormation named is replaced by a queue with a fixed name, and so is removed as well.

    Raises:
        AccountError: names each such queue, and how many messages it holds.
    """
    sqs = session.client("sqs", region_name=where.region)
    stay = set(queues) if found.begin else set()
    gone = {name: _held(sqs, url) for name, url in found.queues.items() if name not in stay}
    held = {name: number for name, number in gone.items() if number}
    told, replace = ", ".join(f"{name} ({number})" for name, number in held.items()), spelled.setting("replace=true")
    if held and not found.begin:
        raise AccountError(
        f"queues: this version of sedano replaces the queues {told} by new ones. The numbers count the messages in each queue and its "
        "dead letters. Stop the publishers, wait until the queues are empty, and deploy again; or add "
        f"{replace} to delete the messages"
        )
    if held:
        raise AccountError(
        f"queues: the application no longer names {told}. The number counts the messages in the queue and its dead letters: they "
        "would be deleted, or in production stay without a consumer. Name the queue in Sedano(queues=…) until it is empty, or "
        f"add {replace} to give the messages up"
        )


def require_free(session: boto3.Session, where: Target, found: DeployedStage, queues: Iterable[str]) -> None:
    """Refuse to create a queue whose name is taken: production keeps a queue that the application no longer names.

    Raises:
        AccountError: names each such queue, the number of its messages, and the remedy.
    """
    sqs = session.client("sqs", region_name=where.region)
    new = [name for name in queues if found.begin and name not in found.queues]
    kept = {name: _held(sqs, f"{found.begin}{name}") for name in new if _is_there(sqs, f"{found.begin}{name}")}
    if kept:
        told = ", ".join(f"{name} ({number})" for name, number in kept.items())
        raise AccountError(
        f"queues: {told} was kept when the application stopped naming it, and CloudFormation cannot make a second queue of that name. "
        "The number counts the messages in it and its dead letters. Move them elsewhere if you need them, delete the queue "
            f"(`aws sqs delete-queue --queue-url {found.begin}{next(iter(kept))}`), and deploy again after a minute"
        )


def _is_there(sqs: Any, url: str) -> bool:
    """Return whether a queue has this address; a queue that cannot be read counts as absent, and CloudFormation decides."""
    try:
        sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    except (BotoCoreError, ClientError):
        return False
    return True


def _held(sqs: Any, url: str) -> int:
    """Return how many messages are in a queue and in its dead letters; 0 for a queue that cannot be read."""
    try:
        said = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[*COUNTED, "RedrivePolicy"])["Attributes"]
        dead = json.loads(said["RedrivePolicy"])["deadLetterTargetArn"].rpartition(":")[2] if "RedrivePolicy" in said else None
        rests = [sqs.get_queue_url(QueueName=dead)["QueueUrl"]] if dead else []
        more = [sqs.get_queue_attributes(QueueUrl=one, AttributeNames=[*COUNTED])["Attributes"] for one in rests]
    except (BotoCoreError, ClientError):
        return 0
    return sum(int(one[name]) for one in (said, *more) for name in COUNTED)
