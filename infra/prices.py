"""The prices of the services that a stage uses: list prices of one Region on one day, in US dollars, without the free tiers.

Sources: the pricing pages of SQS, Lambda, DynamoDB, S3, CloudWatch, EventBridge Scheduler, KMS, Glue, Fargate and VPC.
"""

from typing import NamedTuple

REGION = "us-east-1"
DAY = "2026-11-21"
MILLION = 1_000_000


class Prices(NamedTuple):
    """Prices in dollars; requests are priced by the million."""

    sqs_request: float = 0.40
    #: A million metrics whose latest figures are read.
    metric_read: float = 10.00
    lambda_request: float = 0.20
    #: A million GB-seconds on arm64.
    lambda_gb_s: float = 13.3334
    dynamodb_write: float = 0.625
    dynamodb_read: float = 0.125
    s3_put: float = 5.00
    s3_get: float = 0.40
    #: A gigabyte for a month, of the first 50 TB.
    s3_gb: float = 0.023
    scheduler_invocation: float = 1.00
    #: A worker of the type G.1X for an hour, of spare capacity; a run is charged for at least one minute.
    glue_worker: float = 0.29
    log_gb: float = 0.50
    #: Fargate for an hour, on demand, arm64: a virtual CPU, and a gigabyte. Spare capacity costs up to 70 % less, by a price that changes.
    fargate_cpu: float = 0.03238
    fargate_gb: float = 0.00356
    #: A public address for an hour, in use; a NAT gateway for an hour, without the data.
    address: float = 0.005
    nat: float = 0.045
    #: A month each.
    alarm: float = 0.10
    dashboard: float = 3.00
    metric: float = 0.30
    key: float = 1.00


LIST = Prices()
