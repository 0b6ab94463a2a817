"""The grants of a worker for the sinks of a stage: it may write to each, and read the secrets with which it signs for webhooks."""

from collections.abc import Mapping
from types import MappingProxyType

from aws_cdk import Stack

from ..config import StageConfig
from ..sink_places import BUCKET, WEBHOOK, kind_of
from .grants import Grants

#: The actions that a document's one write needs, by the kind of its sink.
ACTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "dynamodb": ("dynamodb:PutItem",),
    "firehose": ("firehose:PutRecord",),
    "events": ("events:PutEvents",),
    "sqs": ("sqs:GetQueueUrl", "sqs:SendMessage"),
    "sns": ("sns:Publish",),
})  # fmt: skip


def allow_sinks(grants: Grants, stack: Stack, config: StageConfig) -> None:
    """Lets the holder of *grants* write to the sinks of *config*, and to nothing else."""
    for name, text in config.sinks.items():
        kind = kind_of(text)
        if kind == WEBHOOK:
            secret = stack.format_arn(service="ssm", resource="parameter", resource_name=f"sedano/{config.stage}/sinks/{name}")
            grants.allow(["ssm:GetParameter"], secret)
        elif kind == BUCKET:
            bucket, _, prefix = text.partition("/")
            reason = "The key of a document is its id, so the keys cannot be listed beforehand."
            grants.allow_objects(["s3:PutObject"], f"{bucket}/{prefix}*", reason=reason)
        elif kind is not None:
            grants.allow(ACTIONS[kind], text)
