"""Checks the foreign queues that a stage would read, before anything is deployed: CloudFormation refuses a wrong one only after minutes.

A caller without the right to check may still deploy.
"""

from __future__ import annotations

from collections.abc import Mapping

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from sedano.deploy.account import AccountError, Target

#: How many time limits of the function a queue should hide a message: AWS Lambda, "Using Lambda with Amazon SQS".
ADVISED = 6
_MISSING = ("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist")


def require_readable(session: boto3.Session, where: Target, queues: Mapping[str, str], seconds: int) -> None:
    """Refuse a queue that Lambda would not read: one that is missing, or that hides a message for less than the time limit of the function.

    Args:
        session: the credentials of the deployment.
        where: its account and Region.
        queues: the ARN of each foreign queue, by the name of its stream.
        seconds: the time limit of the function that reads them.

    Raises:
        AccountError: names the queue and the remedy.
    """
    sqs = session.client("sqs", region_name=where.region)
    for stream, arn in queues.items():
        account, name = arn.split(":")[4:6]
        try:
            url = sqs.get_queue_url(QueueName=name, QueueOwnerAWSAccountId=account)["QueueUrl"]
            said = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout"])["Attributes"]
        except ClientError as error:
            if error.response["Error"]["Code"] in _MISSING and account == where.account:
                missing = f"the queue {name} is not in account {account} in {where.region}"
                raise AccountError(f"streams[{stream}]: {missing}: create it, or correct its ARN") from error
            continue
        except BotoCoreError:
            continue
        hidden = int(said["VisibilityTimeout"])
        if hidden < seconds:
            raise AccountError(_too_short(stream, url, hidden, seconds))


def _too_short(stream: str, url: str, hidden: int, seconds: int) -> str:
    longer = f"`aws sqs set-queue-attributes --queue-url {url} --attributes VisibilityTimeout={min(ADVISED * seconds, 43_200)}`"
    return (
        f"streams[{stream}]: the queue {url.rpartition('/')[2]} hides a received message for {hidden} s, and Lambda reads no queue that "
        f"hides it for less than the function's time limit, {seconds} s: raise it with {longer}, or give the stage a shorter timeout"
    )
