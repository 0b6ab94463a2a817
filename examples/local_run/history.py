"""The event history of a run, downloaded from its bucket."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any


def download(s3: Any, bucket: str, directory: Path) -> list[dict[str, Any]]:
    """Copy every object of *bucket* into *directory* and return the event lines."""
    lines: list[dict[str, Any]] = []
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        for entry in page.get("Contents", ()):
            data = s3.get_object(Bucket=bucket, Key=entry["Key"])["Body"].read()
            place = directory / entry["Key"]
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
            lines += map(json.loads, gzip.decompress(data).splitlines())
    return lines
