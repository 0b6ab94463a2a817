"""Publishes the files that templates name: each once, because its key is a hash of its content."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from botocore.exceptions import ClientError

from sedano.deploy.assembly import Asset, StackFiles
from sedano.deploy.clients import Clients

_ABSENT = ("403", "404", "NoSuchKey", "NotFound", "AccessDenied", "Forbidden")


class PublishedAssets(NamedTuple):
    """How many files were sent, their bytes, and how many existed before."""

    sent: int = 0
    bytes: int = 0
    kept: int = 0


def publish(clients: Clients, assets: Iterable[Asset]) -> PublishedAssets:
    """Send those of *assets* that their bucket does not hold."""
    sent = size = kept = 0
    for asset in assets:
        s3 = clients.client("s3", asset.role)
        bucket, key = clients.where.filled(asset.bucket), clients.where.filled(asset.key)
        if _is_there(s3, bucket, key):
            kept += 1
            continue
        body = asset.body()
        s3.put_object(Bucket=bucket, Key=key, Body=body)
        sent, size = sent + 1, size + len(body)
    return PublishedAssets(sent, size, kept)


def template_url(clients: Clients, stack: StackFiles) -> str:
    """Return the address at which CloudFormation reads the published template of *stack*."""
    bucket, _, key = clients.where.filled(stack.url).removeprefix("s3://").partition("/")
    return f"{clients.client('s3', _role(stack)).meta.endpoint_url}/{bucket}/{key}"


def _role(stack: StackFiles) -> str:
    return next((asset.role for asset in stack.templates()), "")


def _is_there(s3: object, bucket: str, key: str) -> bool:
    """Return whether the bucket holds the key. A role that may not list the bucket gets 403 for a missing key."""
    try:
        s3.head_object(Bucket=bucket, Key=key)  # type: ignore[attr-defined]
    except ClientError as error:
        if error.response["Error"]["Code"] not in _ABSENT:
            raise
        return False
    return True
