"""The documented limits of AWS's services, each under one name, so that a test can ask for n and for n + 1 of each.

Sources: the service models of botocore for what they state, else AWS's pages on quotas (DynamoDB "Constraints", SQS "Message quotas",
Lambda "Quotas", EventBridge Scheduler, S3, Parameter Store, IAM, CloudFormation), November 2026.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

KIB, MIB = 1024, 1024 * 1024

LIMITS: dict[str, int] = {
    "dynamodb.item": 400 * KIB, "dynamodb.pk": 2_048, "dynamodb.sk": 1_024, "dynamodb.nesting": 32, "dynamodb.digits": 38,
    "dynamodb.expression": 4 * KIB, "dynamodb.operators": 300, "dynamodb.in": 100, "dynamodb.substitutions": 2 * MIB,
    "dynamodb.placeholder": 255, "dynamodb.batch_get": 100, "dynamodb.batch_write": 25,
    "dynamodb.transact": 100, "dynamodb.transact_bytes": 4 * MIB, "dynamodb.partiql": 25, "dynamodb.statement": 8_192,
    "sqs.entries": 10, "sqs.message": MIB, "sqs.total": MIB, "sqs.attributes": 10, "sqs.delay": 900, "sqs.visibility": 43_200,
    "sqs.wait": 20, "sqs.most": 10,
    "s3.key": 1_024, "s3.metadata": 2 * KIB, "s3.delete": 1_000,
    "scheduler.input": 256 * KIB,
    "ssm.name": 1_011, "ssm.levels": 15, "ssm.standard": 4 * KIB, "ssm.advanced": 8 * KIB, "ssm.names": 10,
    "lambda.environment": 4 * KIB, "lambda.layers": 5, "lambda.sync": 6 * MIB, "lambda.async": MIB, "lambda.filters": 5,
    "events.entries": 10, "events.total": MIB,
    "logs.event": MIB, "emf.metrics": 100, "emf.values": 100, "emf.dimensions": 30, "emf.value": 1_024,
    "cloudformation.template": MIB, "cloudformation.resources": 500, "cloudformation.outputs": 200, "cloudformation.parameters": 200,
    "cloudformation.mappings": 200, "iam.inline": 10_240, "iam.managed": 6_144, "iam.trust": 2_048, "s3.policy": 20 * KIB,
    "kms.policy": 32 * KIB,
}  # fmt: skip


class Trip(NamedTuple):
    """One thing that AWS would refuse: the name of the *limit*, AWS's *words*, and the *code* of its answer."""

    limit: str
    words: str
    code: str = "ValidationException"


def over(limit: str, what: str, size: int, code: str = "ValidationException") -> Iterator[Trip]:
    """Yield a trip if *size* is more than the limit."""
    if size > LIMITS[limit]:
        yield Trip(limit, f"{what}: {size} is more than {LIMITS[limit]}", code)


def bytes_of(text: str) -> int:
    """Return the length of a text in UTF-8; a lone surrogate counts as it would be sent."""
    return len(text.encode("utf-8", "surrogatepass"))
