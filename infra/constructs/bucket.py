"""Buckets: encrypted, private, reached over TLS only."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.nag import acknowledge


class Bucket(Construct):
    """One kind of objects, kept for ever or for `days`."""

    def __init__(self, scope: Construct, name: str, *, permanent: bool, days: int | None = None) -> None:
        super().__init__(scope, name)
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            lifecycle_rules=[self._lifecycle(days)],
            removal_policy=RemovalPolicy.RETAIN if permanent else RemovalPolicy.DESTROY,
        )
        acknowledge(
            self.bucket,
            "AwsSolutions-S1",
            "Only this stage's functions reach the bucket; a line of access log would cost more than the object.",
        )

    @staticmethod
    def _lifecycle(days: int | None) -> s3.LifecycleRule:
        return s3.LifecycleRule(
            expiration=None if days is None else Duration.days(days),
            abort_incomplete_multipart_upload_after=Duration.days(1),
        )
