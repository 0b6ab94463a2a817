"""Buckets: encrypted, private, reached over TLS only; overwritten and deleted objects can be restored for a while."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from ..nag import acknowledge

#: For how many days an object is kept after it was overwritten or deleted.
DAYS_TO_RESTORE = 14


class Bucket(Construct):
    """Objects that are encrypted with `key` or with S3's own, and kept for ever; those below the prefix `aged` (all: "") for `days`."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        permanent: bool,
        emptied: bool = False,
        key: kms.IKey | None = None,
        days: int | None = None,
        aged: str = "",
    ) -> None:
        """`emptied`: a function that the CDK adds to the stack empties it when the stack is deleted; otherwise you have to empty it
        first."""
        super().__init__(scope, name)
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            encryption=s3.BucketEncryption.S3_MANAGED if key is None else s3.BucketEncryption.KMS,
            encryption_key=key,
            bucket_key_enabled=None if key is None else True,  # one request to KMS for many objects
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            versioned=True,
            lifecycle_rules=self._lifecycle(days, aged),
            removal_policy=RemovalPolicy.RETAIN if permanent else RemovalPolicy.DESTROY,
            auto_delete_objects=emptied or None,
        )
        reason = "Only this stage's functions reach the bucket; a line of access log would cost more than the object."
        acknowledge(self.bucket, "AwsSolutions-S1", reason)

    @staticmethod
    def _lifecycle(days: int | None, aged: str) -> list[s3.LifecycleRule]:
        """S3 takes the removal of delete markers only in a rule that does not expire objects by age."""
        leftovers = s3.LifecycleRule(
            noncurrent_version_expiration=Duration.days(DAYS_TO_RESTORE),
            expired_object_delete_marker=True,
            abort_incomplete_multipart_upload_after=Duration.days(1),
        )
        return [leftovers] if days is None else [leftovers, s3.LifecycleRule(expiration=Duration.days(days), prefix=aged or None)]
