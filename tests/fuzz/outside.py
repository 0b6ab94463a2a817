"""Targets: what a boxed program writes, what the memos of the inbox and of a poll and the record of a worker hold, the answer to a
poll, and both ends of a direct call."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from sedano.errors import BoxReplyInvalid
from sedano.model import direct_calls, states
from sedano.model.boxes import LONGEST_REPLY, RS, OutputLines, read_answer
from sedano.model.cluster import inbox
from sedano.model.ledger.records import ErrorRecord, TaskRecord
from sedano.model.messages.strict_json import load
from sedano.model.sources import http_polls, polls
from tests.fuzz.loop import Target
from tests.fuzz.readers import FILE_S, NOW, reader, text_of
from tests.fuzz.referee import Broken

_REPLIES = (
    b'\x1e{"id":"c1","ok":[1,null,"x"]}\n', b'progress\n\x1e{"id":"c1","error":{"type":"Unfit","message":"no","retry":false}}\nrest',
    b'\x1e{"id":"c2","ok":1}\n', b"\x1e\x1e\n", b'half\x1e{"id":"c1"', b"x" * 9_000,
)  # fmt: skip
_ASKED = inbox.asking("m-1", inbox.PING, "", NOW, 60)
_MEMO = inbox.text_of([inbox.InboxEntry("workers", "", inbox.body_of(_ASKED)), inbox.InboxEntry("worker:a", "k1.00", "{}")]).encode()


_CALL = direct_calls.DirectCall("default", "v1;k=a;t=1;x=2;to=direct:default;s=b", '{"specversion":"1.0"}')
_FAILED = TaskRecord("t", states.FAILURE, attempt=1, message_id="m", name="add", error=ErrorRecord("ValueError", "no", "Traceback"))
_ANSWERS = tuple(
    json.dumps(direct_calls.answer_of(answer)).encode()
    for answer in (
        direct_calls.DirectAnswer(_FAILED), direct_calls.DirectAnswer(_FAILED._replace(state=states.SUCCESS, error=None, result="5")),
        direct_calls.DirectAnswer(), direct_calls.DirectAnswer(refused=("unknown-task", "subject", "no task")),
    )
)  # fmt: skip


_STATE = polls.text_of(polls.PollState({"at": "7", "etag": '"a"'}, polls.mark_of("id/1"), NOW, 3, "t-1", NOW + 120, NOW))
_PLAN = http_polls.plan_of("https://api.example.com/{cursor}", "rows", "next", "0", None)
_POLLED = tuple(
    json.dumps({"status": status, "headers": headers, "body": body, "position": {"at": "7"}}).encode()
    for status, headers, body in (
        (200, {"etag": '"b"', "last-modified": "M"}, '{"rows":[{"id":1},{"id":2}],"next":"8"}'), (304, {}, ""),
        (429, {"retry-after": "Thu, 01 Jan 2026 00:01:00 GMT"}, ""), (503, {"retry-after": "5"}, ""),
        (200, {"content-encoding": "gzip"}, "[]"),
    )
)  # fmt: skip


def every() -> list[Target]:
    """Return a target for each."""
    return [
        reader("box-output", _output, _REPLIES, words=("id", "ok", "error", "type", "message", "traceback", "retry", "c1", "\x1e"),
            most_cpu=FILE_S),
        reader("inbox", _inbox, [_MEMO, b"[]", inbox.body_of(_ASKED).encode()], words=(*inbox.InboxCommand._fields, *inbox.VERBS)),
        reader("answers", _answers, [inbox.answers_text({"m-1": "pong"}).encode(), b"{}"]),
        reader("poll-state", lambda d: polls.state_of(text_of(d)), [_STATE.encode(), b"{}"], lambda s: polls.text_of(s).encode(),
            words=polls.PollState._fields),
        reader("poll-answer", _polled, _POLLED, words=("status", "headers", "body", "position", "at", "next", "rows", "etag", "modified",
            "retry-after", "content-encoding", "last-modified", "Thu, 01 Jan 2026 00:01:00 GMT", "id")),
        reader("direct-call", _call, [direct_calls.request_text(_CALL).encode(), b'{"sedano":"call"}'], words=("call", *_CALL._fields)),
        reader("direct-answer", _called, _ANSWERS, words=("state", "attempt", "message", "result", "rest", "refused", *states.ROWS)),
    ]  # fmt: skip


def _polled(data: bytes) -> None:
    """Read the answer of a source that is polled; a page that is accepted becomes a state, which is read back, and a request."""
    found = load(data, 1 << 20, 64)
    if not isinstance(found, dict) or not isinstance(found.get("headers"), dict) or not isinstance(found.get("body"), str):
        return
    headers = {str(name).lower(): value for name, value in found["headers"].items() if isinstance(value, str)}
    status, position = found.get("status"), found.get("position")
    answer = http_polls.HttpAnswer(status if isinstance(status, int) else 200, headers, found["body"].encode("utf-8", "replace"))
    polled = http_polls.polled_of(_PLAN, position, answer, NOW)
    if polled is None:
        return
    before = polls.PollState()
    page = polls.page_of(before, polled, polls.field_identity("id"))
    after = before.moved(page, NOW)
    if polls.state_of(polls.text_of(after)) != after or polls.page_of(after, polled, polls.field_identity("id")).items:
        raise Broken("an item of the last page is new again")
    url, sent = http_polls.request_of(_PLAN, after.cursor, str)
    if not url.isascii() or not all(text.isascii() and text.isprintable() for text in sent.values()):
        raise Broken("a source chose what a request must not contain")


def _output(data: bytes) -> None:
    """Read the output of a program, whole and in two pieces: the same lines, none without a bound, and the first reply read or refused.

    A call reads no more: a second reply to one request is refused unread.
    """
    whole, cut, middle = OutputLines(), OutputLines(), len(data) // 2
    lines = whole.feed(data)
    if b"".join([*lines, whole.rest]) != b"".join([*cut.feed(data[:middle]), *cut.feed(data[middle:]), cut.rest]):
        raise Broken("the output depends on how it arrives")
    if max(map(len, (*lines, whole.rest))) > LONGEST_REPLY + 2:
        raise Broken("a line without a bound")
    reply = next((line for line in lines if line.startswith(RS)), None)
    if reply is not None:
        with suppress(BoxReplyInvalid):
            read_answer(reply, "c1")


def _inbox(data: bytes) -> Any:
    """Read the memo, and each body in it as a worker does that lets unsigned ones in; what is read is the same when it is written again."""
    text = text_of(data)
    entries = inbox.entries_of(text)
    if inbox.entries_of(inbox.text_of(entries)) != entries:
        raise Broken("accepted, but not the same when it is written and read again")
    for body in (text, *(entry.body for entry in entries)):
        why, asked = inbox.unsigned_refusal(body, NOW), inbox.asked_of(body)
        if asked is None and why is None:
            raise Broken("let in what cannot be read")
        if asked is not None and inbox.asked_of(inbox.body_of(asked)) != asked and len(inbox.body_of(asked)) <= inbox.MOST_BODY:
            raise Broken("accepted, but not the same when it is written and read again")
    inbox.may_hold(text, NOW)
    return inbox.announced(text, int(NOW), "n")


def _answers(data: bytes) -> None:
    """Read the answers of a worker."""
    found = inbox.answers_of(text_of(data))
    if inbox.answers_of(inbox.answers_text(found)) != found:
        raise Broken("accepted, but not the same when it is written and read again")


def _call(data: bytes) -> None:
    """Read the event of a direct call, as its worker does from JSON."""
    call = direct_calls.call_of(load(data, direct_calls.MOST_BYTES, direct_calls.MOST_DEPTH))
    if direct_calls.call_of(json.loads(direct_calls.request_text(call))) != call:
        raise Broken("accepted, but not the same when it is written and read again")


def _called(data: bytes) -> None:
    """Read the answer to a direct call, as its caller does; what counts for the caller is the same when it is written and read again."""
    answer = direct_calls.read_answer(data, "t", "add")
    again = direct_calls.read_answer(json.dumps(direct_calls.answer_of(answer)).encode(), "t", "add")
    if again != answer:
        raise Broken("accepted, but not the same when it is written and read again")
