"""Targets: what the platform and this machine hand over: variables, the stage's keys, Lambda's events, an answer's date, and the spool."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from sedano.aws import function_url
from sedano.aws.deliveries import delivery
from sedano.aws.events import S3Events
from sedano.aws.settings import from_environment
from sedano.engine.publisher.spool import Spool
from sedano.errors import OptionError
from sedano.model.seals import key_set
from sedano.model.store_clock import Moment, learned
from sedano.ports.webhook_secrets import lines_of
from tests.fuzz.loop import Target
from tests.fuzz.readers import FILE_S, reader, text_of
from tests.fuzz.referee import Broken

_URLS = '{"default":"https://sqs.eu-west-1.amazonaws.com/123456789012/s-dev-default"}'
_ENVIRONMENT = {
    "SEDANO_QUEUES": _URLS, "SEDANO_EVENTS_QUEUE": "https://sqs.eu-west-1.amazonaws.com/123456789012/s-dev-events",
    "SEDANO_RECORDS_QUEUE": "u", "SEDANO_PARKED_QUEUE": "u", "SEDANO_LEDGER_TABLE": "l", "SEDANO_CONTROL_TABLE": "c",
    "SEDANO_BLOBS_BUCKET": "b", "SEDANO_HISTORY_BUCKET": "h",
    "SEDANO_MAPPINGS": '{"default":"uuid"}', "SEDANO_STREAMS": '{"orders":"arn:x"}', "SEDANO_MOST_BUDGET": "50000",
}  # fmt: skip
_KEYS = key_set.written(key_set.added(key_set.first("00" * 32), "11" * 32)).encode()
_DATED = key_set.signing(key_set.added(key_set.first("00" * 32, 1.8e9), "11" * 32, 1.8e9), "k2", 1.8e9)
_RECORD = {
    "messageId": "m", "receiptHandle": "r", "body": "{}", "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:s-dev-default",
    "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": "1767225600000", "MessageGroupId": "g"},
    "messageAttributes": {"slot": {"stringValue": "1/0/1x1", "dataType": "String"}, "n": {"binaryValue": "eA==", "dataType": "Binary"}},
}  # fmt: skip
_CALL = {
    "rawPath": "/orders", "headers": {"x-signature": "sha256=00"}, "body": "e30=", "isBase64Encoded": True,
    "requestContext": {"http": {"method": "POST"}},
}  # fmt: skip
_ROWS = (
    b'["commands:default","{}",5,null]', b'["commands:default","{}",0,"acme","key"]\n["events","{}",0,null,null]', b'["q","{}",1]',
    b"[" * 60_000,
)  # fmt: skip
_FOLDER = Path(tempfile.mkdtemp(prefix="sedano-fuzz-given-"))


def every() -> list[Target]:
    """Return a target for each."""
    return [
        reader("settings", _settings, [json.dumps(_ENVIRONMENT).encode(), *(json.dumps({**_ENVIRONMENT, "SEDANO_QUEUES": text}).encode()
            for text in ("[]", '{"a":1}', "{"))], words=(*_ENVIRONMENT, "default", "orders.fifo")),
        reader("keys", lambda d: key_set.read(text_of(d)), [_KEYS, key_set.written(_DATED).encode()], lambda k: key_set.written(k).encode(),
            words=("sign", "keys", "times", "k1", "ab")),
        reader("secrets", lambda d: lines_of(text_of(d)), [b"one\ntwo\n", b""], is_text=True),
        reader("sqs-record", _record, [json.dumps(_RECORD).encode()], words=("stringValue", "messageAttributes", "body")),
        reader("request", _called, [json.dumps(_CALL).encode(), json.dumps({**_CALL, "isBase64Encoded": False}).encode()],
            words=("rawPath", "headers", "body")),
        reader("date", _date, [b"1767225600000", b"0"], is_text=True),
        reader("day", _day, [b"2026-01-01"], own=(OptionError,), is_text=True),
        Target("spool", _spooled, _ROWS, words=("commands:default", "events", "null", "\n"), cost=60.0, most_cpu=FILE_S),
    ]  # fmt: skip


def _settings(data: bytes) -> Any:
    """Read variables: names that are a text each, as an environment has them."""
    found = json.loads(data) if _is_json(data) else {"SEDANO_QUEUES": text_of(data)}
    if not isinstance(found, dict):
        return None
    return from_environment({name: one if isinstance(one, str) else json.dumps(one) for name, one in found.items()})


def _record(data: bytes) -> Any:
    """Take a record whose body, group and attributes are the sender's; its other fields are AWS's, and stay as AWS makes them."""
    found = json.loads(data) if _is_json(data) else None
    if not isinstance(found, dict) or not isinstance(found.get("body"), str):
        return None
    said = found.get("messageAttributes")
    texts = {str(name): value for name, value in said.items() if isinstance(value, dict)} if isinstance(said, dict) else {}
    taken = delivery({**_RECORD, "body": found["body"], "messageAttributes": texts}, {}, "commands:default")
    return taken.body == found["body"]


def _called(data: bytes) -> Any:
    """Take a request whose path, headers and body are the caller's, as Lambda writes them."""
    found = json.loads(data) if _is_json(data) else None
    if not isinstance(found, dict):
        return None
    headers = found.get("headers")
    said = {
        "rawPath": str(found.get("rawPath")), "body": str(found.get("body")), "isBase64Encoded": False,
        "headers": {str(name).lower(): str(value) for name, value in headers.items()} if isinstance(headers, dict) else None,
    }  # fmt: skip
    return function_url.arrived({**_CALL, **said})


def _date(data: bytes) -> Any:
    """Learn from a store's clock that shows any moment."""
    text = text_of(data)
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        return None
    now = Moment(1_767_225_600_000.0, 5_000.0)
    return learned(None, int(text), now, Moment(now.wall + 20, now.monotonic + 20))


def _day(data: bytes) -> Any:
    """Ask for the history since any day; no client is there to be asked."""
    try:
        return [*S3Events(_Nobody(), "bucket").read(text_of(data)[:40] or "x")]
    except _Asked:
        return None


class _Asked(Exception):
    """A call was made."""


class _Nobody:
    """A client that says that it was asked."""

    def __getattr__(self, name: str) -> Any:
        raise _Asked


def _spooled(data: bytes) -> None:
    """Let a program begin above what an earlier version left: each line becomes a message or is set aside with its bytes."""
    folder = _FOLDER / "app" / "stage"
    shutil.rmtree(_FOLDER / "app", ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    for path in (_FOLDER, _FOLDER / "app", folder):
        path.chmod(0o700)
    (folder / "1.jsonl").write_bytes(data)
    spool = Spool(folder)
    taken = spool.take(100, 1_767_225_600.0)
    left = [path.read_bytes() for path in folder.glob("unreadable-*")]
    spool.close()
    lines = data.decode("utf-8", "replace").splitlines()
    if len(taken) > len(lines) or (len(taken) < len(lines) and len(taken) < 100 and left != [data]):
        raise Broken("a line was lost: neither taken nor set aside")


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True
