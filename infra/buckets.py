"""Emptying a stage's buckets, without which CloudFormation cannot delete them. Never in production: there data outlives its stack."""

import sys
from collections.abc import Iterator
from typing import Any

import boto3
from botocore.exceptions import ClientError

from .account import AccountError
from .config import StageConfig

#: How many objects one call may delete.
_AT_ONCE = 1000


def empty_all(session: boto3.Session, region: str, config: StageConfig, *, agreed: bool) -> bool:
    """Delete every object of the stage's buckets after asking; return whether the stage may be destroyed.

    Args:
        session, region: whose stage it is.
        config: the stage.
        agreed: nobody needs to be asked.

    Raises:
        AccountError: an object cannot be deleted.
    """
    s3 = session.client("s3", region_name=region)
    names = [] if config.permanent else list(_buckets(session.client("cloudformation", region_name=region), config.stage))
    kept = "what it remembers stays" if config.permanent else f"and with it every object in {', '.join(names) or 'its buckets'}"
    if not agreed and not _confirmed(f"Destroy the stage {config.stage}, {kept}? (y/n) "):
        sys.stderr.write("Nothing was changed.\n")
        return False
    for name in names:
        sys.stderr.write(f"{name}: {_empty(s3, name)} objects deleted\n")
    return True


def _confirmed(question: str) -> bool:
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _buckets(cloudformation: Any, stage: str) -> Iterator[str]:
    """Yield the buckets that the stage's first stack has made; none when it is gone already."""
    try:
        for page in cloudformation.get_paginator("list_stack_resources").paginate(StackName=f"sedano-{stage}-state"):
            for resource in page["StackResourceSummaries"]:
                if resource["ResourceType"] == "AWS::S3::Bucket" and resource.get("PhysicalResourceId"):
                    yield resource["PhysicalResourceId"]
    except ClientError as error:
        if "does not exist" not in str(error):
            raise


def _empty(s3: Any, bucket: str) -> int:
    """Delete every version of every object; return how many."""
    count = 0
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket, PaginationConfig={"PageSize": _AT_ONCE}):
        found = [{"Key": one["Key"], "VersionId": one["VersionId"]} for kind in ("Versions", "DeleteMarkers") for one in page.get(kind, [])]
        if found:
            refused = s3.delete_objects(Bucket=bucket, Delete={"Objects": found, "Quiet": True}).get("Errors", [])
            if refused:
                raise AccountError(f"{bucket}: {len(refused)} objects cannot be deleted ({refused[0]['Code']}): their owner must do it")
            count += len(found)
    return count
