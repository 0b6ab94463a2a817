"""A KMS key of the stage: its administrator can see each use of the stage's data, and end all of them at once."""

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

#: The services that store data encrypted with the key.
KEEPERS = ("dynamodb", "s3", "sqs")


class Key(Construct):
    """One key for all tables, buckets and queues of a stage, rotated each year, and never deleted with its stack.

    It can be used like AWS's own managed keys: by every principal of the account, through a service that stores data with it and permits
    this. So neither a role nor a publisher needs a grant for it; no principal can decrypt with it directly. Outside the partition
    `aws` the names of services end as the partition's addresses do, such as `amazonaws.com.cn`; both endings are named, because AWS
    documents the first one for all partitions.
    """

    def __init__(self, scope: Construct, name: str, *, stage: str) -> None:
        super().__init__(scope, name)
        description = f"sedano, stage {stage}: tables, buckets and queues"
        self.key = kms.Key(self, "Key", description=description, enable_key_rotation=True, removal_policy=RemovalPolicy.RETAIN)
        stack = Stack.of(self)
        self.key.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.AnyPrincipal()],
                actions=["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:CreateGrant", "kms:DescribeKey"],
                resources=["*"],
                conditions={
                    "StringEquals": {
                        "kms:CallerAccount": stack.account,
                        "kms:ViaService": [
                            f"{service}.{stack.region}.{suffix}" for service in KEEPERS for suffix in ("amazonaws.com", stack.url_suffix)
                        ],
                    }
                },
            )
        )
