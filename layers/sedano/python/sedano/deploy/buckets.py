"""Empties a stage's buckets, because CloudFormation cannot delete a bucket with objects. Never in production, where data outlives its
stack."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.exceptions import ClientError

from sedano.deploy.account import AccountError

#: How many objects one call may delete.
_AT_ONCE = 1000


def of_stage(session: boto3.Session, region: str, stage: str) -> list[str]:
    """Return the names of the buckets that the first stack of *stage* has made; none if the stack no longer exists."""
    cloudformation = session.client("cloudformation", region_name=region)
    found: list[str] = []
    try:
        for page in cloudformation.get_paginator("list_stack_resources").paginate(StackName=f"sedano-{stage}-state"):
            buckets = (one for one in page["StackResourceSummaries"] if one["ResourceType"] == "AWS::S3::Bucket")
            found += [one["PhysicalResourceId"] for one in buckets if one.get("PhysicalResourceId")]
    except ClientError as error:
        if "does not exist" not in str(error):
            raise
    return found


def emptied(s3: Any, bucket: str) -> int:
    """Delete every version of every object in *bucket* by the client *s3*; return how many.

    Raises:
        AccountError: an object cannot be deleted.
    """
    count = 0
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket, PaginationConfig={"PageSize": _AT_ONCE}):
        found = [{"Key": one["Key"], "VersionId": one["VersionId"]} for kind in ("Versions", "DeleteMarkers") for one in page.get(kind, [])]
        if found:
            refused = s3.delete_objects(Bucket=bucket, Delete={"Objects": found, "Quiet": True}).get("Errors", [])
            if refused:
                raise AccountError(f"{bucket}: {len(refused)} objects cannot be deleted ({refused[0]['Code']}): only their owner can")
            count += len(found)
    return count
