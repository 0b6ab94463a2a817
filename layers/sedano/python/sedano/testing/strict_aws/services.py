"""Finds what S3, EventBridge Scheduler, Parameter Store, Lambda and EventBridge refuse of a call, beside what their models say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sedano.testing.strict_aws import dynamodb, sqs
from sedano.testing.strict_aws.limits import LIMITS, Trip, bytes_of, over

Call = Mapping[str, Any]
_BUCKET = re.compile(r"(?!xn--|sthree-)(?!.*\.\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?<!-s3alias)")
_AT = re.compile(r"at\(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\)")
_RATE = re.compile(r"rate\((1 (minute|hour|day)|[1-9]\d* (minute|hour|day)s?)\)")
_CRON = re.compile(r"cron\((\S+ ){5}\S+\)")
_PARAMETER = re.compile(r"(?!/?(?i:aws|ssm))[A-Za-z0-9_.\-/:]+")
ARN_BEFORE = len("arn:aws:ssm:ap-southeast-1:111122223333:parameter")
_REFUSED = "InvalidParameterValueException"


def s3(operation: str, call: Call) -> Iterator[Trip]:
    """Yield what S3 refuses of a call."""
    keys = [one["Key"] for one in call["Delete"]["Objects"]] if operation == "DeleteObjects" else [call["Key"]] if "Key" in call else []
    for key in keys:
        yield from over("s3.key", "your key is too long", bytes_of(key), "KeyTooLongError")
    if operation == "DeleteObjects" and not 1 <= len(keys) <= LIMITS["s3.delete"]:
        yield Trip("s3.delete", f"objects to delete: {len(keys)} is not within 1 to {LIMITS['s3.delete']}", "MalformedXML")
    metadata = sum(bytes_of(name) + bytes_of(text) for name, text in call.get("Metadata", {}).items())
    yield from over("s3.metadata", "bytes of metadata", metadata, "MetadataTooLarge")
    if operation == "PutObject" and (call.get("IfNoneMatch", "*") != "*" or {"IfMatch", "IfNoneMatch"} <= call.keys()):
        yield Trip("s3.condition", "PutObject takes If-Match, or If-None-Match with *", "NotImplemented")
    bucket = call.get("Bucket", "arn:")
    if not bucket.startswith("arn:") and not _BUCKET.fullmatch(bucket):
        yield Trip("s3.bucket", f"the specified bucket is not valid: {bucket!r}", "InvalidBucketName")


def scheduler(operation: str, call: Call) -> Iterator[Trip]:
    """Yield what EventBridge Scheduler refuses of a call."""
    yield from over("scheduler.input", "bytes of Input", bytes_of(call.get("Target", {}).get("Input", "")))
    text = call.get("ScheduleExpression")
    if text is not None and not any(form.fullmatch(text) for form in (_AT, _RATE, _CRON)):
        yield Trip("scheduler.expression", f"invalid schedule expression {text!r}")
    window = call.get("FlexibleTimeWindow", {})
    if window.get("Mode") == "OFF" and "MaximumWindowInMinutes" in window:
        yield Trip("scheduler.window", f"{operation}: MaximumWindowInMinutes with Mode=OFF")


def ssm(operation: str, call: Call) -> Iterator[Trip]:
    """Yield what Parameter Store refuses of a call."""
    names = [call["Name"]] if "Name" in call else call.get("Names", ())
    yield from over("ssm.names", "Names", len(names))
    for name in names:
        yield from over("ssm.name", "characters of the parameter's ARN", ARN_BEFORE + len(name))
        yield from over("ssm.levels", "levels of the name", name.count("/"), "HierarchyLevelLimitExceededException")
        if not name.startswith(("arn:", "/aws/")) and not _PARAMETER.fullmatch(name):
            yield Trip("ssm.name", f"parameter name: {name!r}")
    if operation == "PutParameter":
        tier = "ssm.advanced" if call.get("Tier") in ("Advanced", "Intelligent-Tiering") else "ssm.standard"
        yield from over(tier, "bytes of the value", bytes_of(call.get("Value", "")))


def functions(operation: str, call: Call) -> Iterator[Trip]:
    """Yield what Lambda refuses of a call."""
    variables = call.get("Environment", {}).get("Variables", {})
    size = sum(bytes_of(name) + bytes_of(text) for name, text in variables.items())
    yield from over("lambda.environment", "Lambda was unable to configure your environment variables: bytes", size, _REFUSED)
    yield from over("lambda.layers", "layers", len(call.get("Layers", ())), _REFUSED)
    filters = call.get("FilterCriteria", {}).get("Filters", ())
    yield from over("lambda.filters", "filters", len(filters), _REFUSED)
    if operation == "CreateEventSourceMapping":
        yield from _mapping(call)
    if operation == "Invoke":
        payload = call.get("Payload", b"")
        kind = "lambda.async" if call.get("InvocationType") == "Event" else "lambda.sync"
        length = bytes_of(payload) if isinstance(payload, str) else len(payload)
        yield from over(kind, "bytes of the payload", length, "RequestTooLargeException")


def _mapping(call: Call) -> Iterator[Trip]:
    source, batch, window = str(call.get("EventSourceArn", "")), call.get("BatchSize", 1), call.get("MaximumBatchingWindowInSeconds", 0)
    fifo = source.endswith(".fifo")
    if fifo and window:
        yield Trip("lambda.window", "a batching window is not for a FIFO queue", _REFUSED)
    if ":sqs:" in source and batch > 10 and (fifo or window < 1):
        yield Trip("lambda.batch", f"BatchSize: {batch} of a queue that is FIFO or has no batching window", _REFUSED)


def events(operation: str, call: Call) -> Iterator[Trip]:
    """Yield what EventBridge refuses of a call."""
    entries = call.get("Entries", ()) if operation == "PutEvents" else ()
    yield from over("events.entries", "entries", len(entries))
    size = sum(14 + sum(bytes_of(str(entry.get(name, ""))) for name in ("Source", "DetailType", "Detail")) for entry in entries)
    yield from over("events.total", "bytes of the request", size)


SERVICES: dict[str, Callable[[str, Call], Iterator[Trip]]] = {
    "dynamodb": dynamodb.problems, "sqs": sqs.problems, "s3": s3, "scheduler": scheduler, "ssm": ssm, "lambda": functions, "events": events,
}  # fmt: skip
