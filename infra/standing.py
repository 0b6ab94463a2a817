"""What stands under a stage's name already, looked at before it is deployed over: another application, and queues that would go.

Whoever may not look may still deploy; a stage that is not there yet has nothing to lose.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from .account import AccountError, Target

#: How the messages of a queue are counted: those that wait, that are worked on, and that are delayed.
COUNTED = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed")


class Standing(NamedTuple):
    """A stage as it is deployed: its *app* (`module:attribute`), and the addresses of its command queues by name."""

    app: str
    queues: Mapping[str, str]


def standing(session: boto3.Session, where: Target, stage: str) -> Standing | None:
    """Return what is deployed under the name of *stage*; None where nothing is, or where these credentials may not look."""
    cloudformation = session.client("cloudformation", region_name=where.region)
    try:
        (stack,) = cloudformation.describe_stacks(StackName=f"sedano-{stage}-core")["Stacks"]
    except ClientError:
        return None
    outputs = {one["OutputKey"]: one["OutputValue"] for one in stack.get("Outputs", [])}
    if "SedanoApp" not in outputs:
        return None
    return Standing(outputs["SedanoApp"], json.loads(outputs.get("SedanoQueues", "{}")))


def require_same(found: Standing, stage: str, app: str) -> None:
    """Refuse to deploy *app* over another application.

    Raises:
        AccountError: another one is deployed there.
    """
    if found.app != app:
        raise AccountError(
            f"app: the stage {stage} runs {found.app}, and {app} would take its place, with its queues ({', '.join(found.queues)}), "
            'tables and history: give another STAGE=, or say SET="replace=true" if that is meant'
        )


def require_empty(session: boto3.Session, where: Target, found: Standing, queues: Iterable[str]) -> None:
    """Refuse to take away a queue that is not among *queues* any more while messages are in it or in its dead letters.

    Raises:
        AccountError: names each such queue, and how many messages it holds.
    """
    sqs = session.client("sqs", region_name=where.region)
    gone = {name: _held(sqs, url) for name, url in found.queues.items() if name not in set(queues)}
    held = {name: number for name, number in gone.items() if number}
    if held:
        told = ", ".join(f"{name} ({number})" for name, number in held.items())
        raise AccountError(
            f"queues: the application no longer names {told}. The number is that of the messages in it and in its dead letters: they "
            "would be deleted, or in production wait where nothing consumes them. Name the queue in Sedano(queues=…) until it is empty, or "
            'say SET="replace=true" if they are not wanted'
        )


def _held(sqs: Any, url: str) -> int:
    """Return how many messages are in a queue and in its dead letters; 0 for one that cannot be looked at."""
    try:
        said = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[*COUNTED, "RedrivePolicy"])["Attributes"]
        dead = json.loads(said["RedrivePolicy"])["deadLetterTargetArn"].rpartition(":")[2] if "RedrivePolicy" in said else None
        rests = [sqs.get_queue_url(QueueName=dead)["QueueUrl"]] if dead else []
        more = [sqs.get_queue_attributes(QueueUrl=one, AttributeNames=[*COUNTED])["Attributes"] for one in rests]
    except (BotoCoreError, ClientError):
        return 0
    return sum(int(one[name]) for one in (said, *more) for name in COUNTED)
