"""What means something in the inputs of each target, and small seeds for those that no app writes: all written here, none copied."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sedano.memory.stream_records import queue_record, s3_notification
from sedano.model.history.manifests import Part, Pointer, Snapshot, write_pointer, write_snapshot
from sedano.model.messages import attributes as wire
from sedano.model.schedules.agenda import Agenda, Periodic, ScheduledCall, write_agenda
from sedano.model.schedules.schedule import Schedule, State
from sedano.model.schedules.timetable import read_timetable
from sedano.model.workflow.definition import encode
from tests.fuzz import stall

NAMES = (*stall.app.registry.tasks, "sedano.launch", "sedano.map", "sedano.elect", "sedano.workflow", "packed.batch",
    "tests.fuzz.stall.Sold")
ATTRIBUTES = (
    *wire.COMMAND, *wire.EVENT, *wire.DOCUMENT, *NAMES, "args", "kwargs", "value", "error", "sedano.command.v1", "sedano.event.v1",
    "sedano.document.v1",
    "SUCCESS", "FAILURE", "0.1", "1:2", "5:9", ":9", '{"item":{"chain":[{"task":"add"}]}}',
)  # fmt: skip
PLANS = (
    "item", "chain", "group", "task", "queue", "args", "kwargs", "links", "forks", "errors", "watch", "more", "page", "pages", "kind",
    "at", "of", "id", "end",
    "resume", "expires", "countdown", "eta", "immutable", "ignore_result", "outcomes", "tenant", "stamps", "time_limits", "budget", "ref",
    "size", *NAMES,
)  # fmt: skip
TIMERS = ("sedano.timer", "id", "at", "queue", "tenant", "message", *ATTRIBUTES)
RECORDS = ("v", "host", "pid", "rows", "lines", "timestamp", "clock", "type", "uuid", "task-sent", "task-succeeded", "worker-heartbeat")
RECORD = b'{"v":1,"host":"h","pid":1,"rows":[],"lines":[{"type":"worker-online","clock":1,"timestamp":1767225600.0}]}'
EVENTS = (
    "task-sent", "task-received", "task-started", "task-succeeded", "task-failed", "task-retried", "task-revoked", "task-progress",
    "task-", "task-held",
    "task-collected", "worker-online", "worker-heartbeat", "worker-offline", "worker-lost", "uuid", "clock", "timestamp", "hostname",
    "pid", "type", "name",
    "batch", "since", "until", "reason", "local_received", "utcoffset", "stamps", "runtime", "result", "exception", "retries",
)  # fmt: skip
HEADERS = (
    "headers", "body", "webhook", "at", "X-Signature", "X-Token", "Stripe-Signature", "X-Slack-Signature", "X-Slack-Request-Timestamp",
    "webhook-id",
    "webhook-timestamp", "webhook-signature", "sha256=", "t=1767225600", "v1=", "v0=", "v1,", "1767225600", "content-type", "c2VjcmV0",
    "method", "GET", "HEAD", "query", "hub.mode=subscribe", "&hub.verify_token=", "&hub.challenge=", "crc_token=", "challenge=",
    "path", "hmac",
)  # fmt: skip


def _request(**fields: Any) -> bytes:
    return json.dumps({"webhook": "open", "at": 1767225600.0, "headers": {"content-type": "application/json"}, "body": "e30=",
        **fields}).encode()


REQUESTS = (_request(), _request(body=""), _request(headers={}))
CHALLENGED = (
    ("hmac", "hub.mode=subscribe&hub.verify_token=x&hub.challenge=1"), ("base64", "crc_token=abc"), ("token", "challenge=abc"),
)  # fmt: skip
_HEX, _B64 = "ab" * 32, "q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s="
SIGNED = tuple(
    json.dumps({"headers": headers, "body": '{"sold":[]}'}).encode()
    for headers in (
        {"X-Signature": f"sha256={_HEX}"}, {"X-Signature": _B64}, {"X-Token": "x"}, {"Stripe-Signature": f"t=1767225600,v1={_HEX},v0=0"},
        {"X-Slack-Signature": f"v0={_HEX}", "X-Slack-Request-Timestamp": "1767225600"},
        {"webhook-id": "m1", "webhook-timestamp": "1767225600", "webhook-signature": f"v1,{_B64} v1,x"}, {},
    )
)  # fmt: skip
STREAMS = (
    "dynamodb", "kinesis", "Keys", "NewImage", "OldImage", "eventName", "eventID", "INSERT", "MODIFY", "REMOVE", "S", "N", "B", "BOOL",
    "NULL", "L", "M", "SS",
    "NS", "BS", "1E+125", "1E-130", "-0", "0.1", "1E400", "ApproximateCreationDateTime", "SequenceNumber", "sequenceNumber", "data",
    "partitionKey",
    "approximateArrivalTimestamp", "userIdentity", "principalId", "dynamodb.amazonaws.com",
    "aws:sqs", "eventSource", "messageId", "body", "attributes", "SentTimestamp", "messageAttributes", "stringValue",
)  # fmt: skip
STREAMED = tuple(
    json.dumps(record).encode()
    for record in (
        {"eventID": "1", "eventName": "INSERT", "dynamodb": {
            "ApproximateCreationDateTime": 1767225600, "Keys": {"id": {"S": "a"}}, "SequenceNumber": "1", "NewImage": {
                "id": {"S": "a"}, "n": {"N": "1.5"}, "big": {"N": "1E+100"}, "b": {"B": "eA=="}, "t": {"BOOL": True}, "z": {"NULL": True},
                "l": {"L": [{"N": "1"}]}, "m": {"M": {"k": {"S": "v"}}}, "ss": {"SS": ["b", "a"]}, "ns": {"NS": ["2", "1"]},
                "bs": {"BS": ["eA=="]}}}},
        {"eventID": "2", "eventName": "REMOVE", "userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"},
         "dynamodb": {"Keys": {"id": {"S": "a"}}, "OldImage": {"id": {"S": "a"}}, "SequenceNumber": "2"}},
        {"eventID": "shardId-0:1", "kinesis": {"partitionKey": "p", "sequenceNumber": "1", "data": "aGVsbG8=",
            "approximateArrivalTimestamp": 1767225600.5}},
        {"eventID": "shardId-0:2", "kinesis": {"partitionKey": "p", "sequenceNumber": "2", "data": "//8=",
            "approximateArrivalTimestamp": 1}},
        queue_record(1, 1.8e9, "tea", {"kind": "order"}),
    )
)  # fmt: skip
CRON = (
    "*", "*/15", "0", "59", "L", "LW", "5L", "FRI#2", "MON-FRI", "JAN", "1-5/2", "1,2", "@daily", " ", "-", "/", "#", "cron", "every",
    "at", "UTC", "Europe/Berlin",
    "29 2", "31 4", "8000", "next", "skip", "first", "both",
)  # fmt: skip
CRONS = (b"0 9 * * MON-FRI", b"*/15 0-5/2 L,1 JAN-MAR *", b"0 0 29 2 MON#5", b"@daily", b"0 0 LW * 5L", b"1,2,3 4 5 6 7")
TIMETABLES = (
    b'["cron",["0 9 * * MON-FRI","Europe/Berlin","next","first"]]', b'["cron",["30 2 * * *","Europe/Berlin",null,null]]',
    b'["every",[60,0]]', b'["at",[1767225600,1893456000]]',
)  # fmt: skip
MOMENTS = (b"2026-01-01T00:00:00Z", b"2026-11-20T11:00:00.123456Z", b"2026-11-20T11:00:00.1+02:00", b"9999-12-31T23:59:59Z",
    b"1970-01-01T00:00:00+00:01")
LIMIT = ("paces", "concurrency", "time", "[[1000000, 1]]")
LIMITS = (b'{"paces": [[10000, 3]], "concurrency": 5, "time": [1.0, 2.0]}', b'{"paces": [], "concurrency": -1, "time": null}',
    b'{"paces":null,"concurrency":null}')
CIRCUITS = (b'["c",[[1.0,"failure"]],0.0,1767225600.0,"x",1,[1.0],0.0]',)
HEALTHS = (b'["disk","healthy",1.0,2.0,"",0.0]',)
BUDGETS = (b"[5,1,2,1.0,2.0,true]",)
MANIFEST = ("format", "parts", "prefix", "token", "made", "parent", "name", "files", "base")
MANIFESTS = (write_snapshot(Snapshot()), write_snapshot(Snapshot(parts=(Part("data/term=5/", 3, 7),), token=5, made=7)))
POINTERS = (write_pointer(Pointer()),)
HELD_ID = "4be1b248-8b97-4f45-8362-1f97bf4cc645"
_LINE = {"uuid": HELD_ID, "name": "add", "clock": 5, "timestamp": 1767225590.0, "hostname": "h", "pid": 1, "utcoffset": 0}
HELD = tuple(
    json.dumps({**_LINE, **more}).encode()
    for more in (
        {"type": "task-held", "reason": "rate limit", "until": 1767225700.0}, {"type": "task-held", "reason": "collected", "batch": "b",
            "since": 1.0, "until": 2.0},
        {"type": "task-held", "reason": "batch", "batch": "b", "since": 1767225590.0, "until": 1767229999.0},
        {"type": "task-sent", "queue": "default"},
    )
)  # fmt: skip
AGENDA = ("timetable", "options", "call", "state", "declared", "cursor", "pending", "missed", "running", "task", "queue", "data",
    "expires", "cron", "every", "at", *CRON)
WORKFLOW = (
    "workflow", "version", "inputs", "step", "name", "task", "args", "kwargs", "after", "when", "each", "compensate", "retry",
    "time_limit", "on_failure", "doc", "format",
    "wait", "$amount", "$priced", "$priced.total", "$$x", "$priced > 10", "$x?", "max_retries", "interval_start", "result", "is", "value",
    "negated", "int", "type", "default", "add",
)  # fmt: skip
TOML_WORDS = ("[[step]]", "[inputs]", "[step.args]", '"""', "'''", "= ", "\n", "[ ", "{ a = 1 }", "1979-05-27", "inf", "nan", "#", ".")
YAML_WORDS = ("- ", ": ", "&a", "*a", "<<: *a", "!!python/object:os.system", "!!int", "!!binary", "|", ">", "\n", "  ", "---", "%YAML 9.9",
    "? ", "{", "[", "~", "1:1:1")
_SAMPLES = Path(__file__).parent / "samples"
TOML, YAML = [tuple(path.read_bytes() for path in sorted(_SAMPLES.glob(f"*.{kind}"))) for kind in ("toml", "yaml")]
CELERY = tuple((_SAMPLES / "celery.jsonl").read_bytes().splitlines())


def workflows() -> tuple[bytes, ...]:
    """Return definitions as they lie in the blob store."""
    return (encode(stall.Fulfil.flow.definition), b'{"workflow":"w","step":[]}')


def agendas() -> tuple[bytes, ...]:
    """Return agendas as they lie in the table."""
    tables = [read_timetable(kind, values) for kind, values in map(json.loads, TIMETABLES)]
    made = {f"p{n}": Periodic(Schedule(f"p{n}", table), ScheduledCall("add", "default"), State(1767225600, (1767225660,)), "d" * n) for n,
        table in enumerate(tables)}
    return (write_agenda(Agenda(3, made)).encode(), b"{}")
NOTIFICATIONS = (
    "Records", "s3", "bucket", "object", "name", "key", "size", "eTag", "versionId", "sequencer", "eventName", "eventTime", "Type",
    "Notification", "MessageId", "TopicArn", "Subject", "Message", "Timestamp", "MessageAttributes", "Value", "detail-type", "detail",
    "source", "aws.s3", "time", "resources", "Event", "s3:TestEvent", "ObjectCreated:Put", "Object Deleted", "%2F", "+",
)  # fmt: skip
MESSAGES = tuple(
    json.dumps(message).encode()
    for message in (
        json.loads(s3_notification(1, 1.8e9, "b", "a b/é", "ObjectCreated:Put", 7)),
        {
            "Type": "Notification", "MessageId": "m", "TopicArn": "t",
            "Message": s3_notification(2, 1.8e9, "b", "k", "ObjectRemoved:Delete", None), "Timestamp": "2026-11-27T10:00:00.000Z",
            "MessageAttributes": {"a": {"Type": "String", "Value": "v"}},
        },
        {
            "id": "e", "detail-type": "Object Created", "source": "aws.s3", "account": "1", "time": "2026-11-27T10:00:00Z", "region": "r",
            "resources": ["a"], "detail": {"bucket": {"name": "b"}, "object": {"key": "k", "size": 1, "etag": "e", "sequencer": "0A"}},
        },
        {"Event": "s3:TestEvent"},
    )
)  # fmt: skip
"""Messages of the formats of a foreign queue."""
