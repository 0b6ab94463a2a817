"""The lines of boxed tasks, cut anywhere and mixed with anything; the declaration of a box, and the schema of its lines."""

import json
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from sedano import Sedano
from sedano.errors import BoxReplyInvalid, OptionError
from sedano.model.boxes import (
    CREDENTIALS,
    INHERITED,
    LONGEST_LOG_LINE,
    LONGEST_REPLY,
    RS,
    BoxAnswer,
    BoxError,
    BoxPlan,
    BoxRequest,
    OutputLines,
    environment,
    memory_bytes,
    read_answer,
    read_payload,
    request_line,
)

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "protocol" / "box.schema.json").read_text(encoding="utf-8"))
REQUEST, REPLY = (Draft202012Validator({**SCHEMA, "oneOf": [{"$ref": f"#/$defs/{part}"}]}) for part in ("request", "reply"))
ASKED = BoxRequest("c0ffee", "resize", "t-1", 2, 7, 1_795_000_000.5, "00-" + "1" * 32 + "-" + "2" * 16 + "-01")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
NOISE = st.binary(max_size=20).filter(lambda data: RS not in data)
PARTS = [b"\n", RS, b"a", b"\xff", RS + b'{"id":"1"}\n', b"x" * 5_000, RS + b"y" * 9_000]
OUTPUT = st.lists(st.sampled_from(PARTS), max_size=12).map(b"".join)


def reply(value: Any, call: str = "c0ffee") -> bytes:
    """One reply, with its RS and its newline."""
    return RS + json.dumps({"id": call, "ok": value}).encode() + b"\n"


def in_pieces(output: bytes, cuts: list[int]) -> tuple[list[bytes], bytes]:
    """The lines of *output*, fed in pieces; and the rest."""
    lines, found, places = OutputLines(), list[bytes](), sorted({0, len(output), *(cut % (len(output) + 1) for cut in cuts)})
    for begin, end in pairwise(places):
        found += lines.feed(output[begin:end])
    return found, lines.rest


@given(OUTPUT, st.lists(st.integers(0, 100_000), max_size=12))
def test_output_has_the_same_lines_however_it_is_cut(output: bytes, cuts: list[int]) -> None:
    assert in_pieces(output, cuts) == in_pieces(output, [])


@given(st.lists(st.tuples(NOISE, JSON), max_size=6), st.lists(st.integers(0, 10_000), max_size=12))
def test_every_reply_is_found_whole_between_any_noise_without_rs(parts: list[tuple[bytes, Any]], cuts: list[int]) -> None:
    output = b"".join(noise + reply(value, str(n)) for n, (noise, value) in enumerate(parts))
    found, rest = in_pieces(output, cuts)
    replies = [line for line in found if line.startswith(RS)]
    assert [read_answer(line, str(n)) for n, line in enumerate(replies)] == [BoxAnswer(value) for _, value in parts]
    assert rest == b""


@given(OUTPUT)
def test_no_byte_of_the_output_is_lost_but_newlines(output: bytes) -> None:
    found, rest = in_pieces(output, [])
    assert b"".join([*found, rest]) == output.replace(b"\n", b"")


def test_a_line_without_an_end_is_kept_only_up_to_its_limit() -> None:
    lines = OutputLines()
    found = [line for _ in range(40) for line in lines.feed(b"x" * 50_000)]
    assert {len(line) for line in found} == {LONGEST_LOG_LINE}
    assert len(lines.rest) <= LONGEST_LOG_LINE
    lines = OutputLines()
    found = [line for piece in [RS, *[b"x" * 50_000] * 40] for line in lines.feed(piece)]
    assert len(found[0]) == LONGEST_REPLY + 2
    with pytest.raises(BoxReplyInvalid, match="longer than 1048576 bytes"):
        read_answer(found[0], "c0ffee")


def test_a_log_line_of_4096_bytes_stays_whole_until_its_end_and_a_longer_one_is_cut() -> None:
    lines = OutputLines()
    assert (lines.feed(b"x" * 4_096), lines.rest) == ([], b"x" * 4_096)
    assert lines.feed(b"\n") == [b"x" * 4_096]
    assert lines.feed(b"x" * 4_097 + b"\n") == [b"x" * 4_096, b"x"]


def test_the_longest_reply_is_read() -> None:
    longest = reply("x" * (LONGEST_REPLY - len(reply("")) + 2))
    (line,) = OutputLines().feed(longest)
    assert len(line) == LONGEST_REPLY + 1
    assert read_answer(line, "c0ffee").error is None
    with pytest.raises(BoxReplyInvalid, match="longer"):
        read_answer(OutputLines().feed(reply("x" * (LONGEST_REPLY - len(reply("")) + 3)))[0], "c0ffee")


@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()) | st.dictionaries(
    st.sampled_from(["id", "ok", "error", "more"]), st.just("c0ffee") | st.dictionaries(
        st.sampled_from(["type", "message", "traceback", "retry", "more"]), st.text(max_size=3) | st.booleans()
    )
).map(lambda value: json.dumps(value).encode()))  # fmt: skip
def test_a_reply_is_read_as_its_schema_accepts_it_or_refused(body: bytes) -> None:
    try:
        answer = read_answer(RS + body, "c0ffee")
    except BoxReplyInvalid:
        try:
            given_reply = json.loads(body.decode(), parse_constant=lambda _: 1 / 0)
        except (ValueError, ZeroDivisionError):
            return
        assert not REPLY.is_valid(given_reply) or given_reply["id"] != "c0ffee"
        return
    assert REPLY.is_valid(json.loads(body))
    assert (answer.error is None) == ("ok" in json.loads(body))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "is not one line of JSON"),
        (b"[" * 500_000, "is not one line of JSON"),
        (b'{"id":"c0ffee","ok":NaN}', "NaN is not a JSON number"),
        (b'{"id":"c0ffee","ok":"\xff"}', "is not one line of JSON"),
        (b"[1]", "is a list, not an object"),
        (b'{"id":"other","ok":1}', "has the id 'other'"),
        (b'{"ok":1}', "has the id None"),
        (b'{"id":"c0ffee"}', "has the members"),
        (b'{"id":"c0ffee","ok":1,"error":{"type":"A","message":""}}', "has the members"),
        (b'{"id":"c0ffee","error":"bad"}', "has an error that is not an object"),
        (b'{"id":"c0ffee","error":{"type":"A"}}', "has an error that is not an object with type and message"),
        (b'{"id":"c0ffee","error":{"type":"A","message":"","more":1}}', "has an error that is not an object with type and message"),
        (b'{"id":"c0ffee","error":{"type":"","message":""}}', "error whose type is not valid"),
        (b'{"id":"c0ffee","error":{"type":"A","message":"","retry":1}}', "error whose retry is not valid"),
    ],
)
def test_a_reply_that_is_none_is_refused_with_the_reason(body: bytes, why: str) -> None:
    with pytest.raises(BoxReplyInvalid, match=re.escape(why)):
        read_answer(RS + body, "c0ffee")


def test_an_error_is_read_with_its_parts_and_may_be_tried_again_unless_it_says_otherwise() -> None:
    whole = b'\x1e{"id":"c0ffee","error":{"type":"Unfit","message":"m","traceback":"t","retry":false}}'
    assert read_answer(whole, "c0ffee") == BoxAnswer(error=BoxError("Unfit", "m", "t", retry=False))
    assert read_answer(b'\x1e{"id":"c0ffee","error":{"type":"A","message":""}}', "c0ffee").error == BoxError("A", "", "", retry=True)


def test_the_names_of_errors_and_the_words_of_refusals_are_cut_at_their_limits() -> None:
    kind = "K" * 300
    raised = read_payload(json.dumps({"errorType": kind, "errorMessage": ""}).encode(), "c0ffee", failed=True)
    replied = read_answer(RS + json.dumps({"id": "c0ffee", "error": {"type": kind, "message": ""}}).encode(), "c0ffee")
    assert [one.error and len(one.error.type_name) for one in (raised, replied)] == [256, 256]
    with pytest.raises(BoxReplyInvalid) as refused:
        read_answer(RS + json.dumps({"id": "c0ffee", "m" * 500: 1}).encode(), "c0ffee")
    assert len(str(refused.value)) == 400


@given(st.lists(JSON, max_size=3), st.dictionaries(st.text(max_size=5), JSON, max_size=3))
def test_a_request_is_one_line_of_ascii_that_its_schema_accepts(args: list[Any], kwargs: dict[str, Any]) -> None:
    line = request_line(ASKED, args, kwargs)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert line.isascii()
    assert RS not in line
    read = json.loads(line)
    assert REQUEST.is_valid(read)
    assert (read["args"], read["kwargs"], read["id"], read["fence"]) == (args, kwargs, "c0ffee", 7)


def test_the_examples_of_the_schema_are_lines() -> None:
    assert all(REQUEST.is_valid(example) for example in SCHEMA["$defs"]["request"]["examples"])
    assert all(REPLY.is_valid(example) for example in SCHEMA["$defs"]["reply"]["examples"])
    assert SCHEMA["$defs"]["request"]["properties"].keys() == json.loads(request_line(ASKED, (), {})).keys()


def test_memory_is_whole_megabytes_or_gigabytes() -> None:
    assert (memory_bytes("16M"), memory_bytes("512M"), memory_bytes("2G"), memory_bytes("1024G")) == (
        16 << 20, 512 << 20, 2 << 30, 1 << 40,
    )  # fmt: skip
    for wrong in ("", "512", "512m", "512MB", "1.5G", "0M", "-1M", " 512M", "512M\n", 512, None):
        with pytest.raises(OptionError, match=r"memory: .* is not a size; write whole megabytes or gigabytes, such as '512M' or '2G'"):
            memory_bytes(wrong)
    for far in ("15M", "1025G"):
        with pytest.raises(OptionError, match="is not between '16M' and '1024G'"):
            memory_bytes(far)


def test_an_environment_has_the_workers_credentials_only_if_its_box_says_so() -> None:
    of_worker = {name: name.lower() for name in (*INHERITED, *CREDENTIALS, "SEDANO_APP", "SECRET")}
    assert environment(BoxPlan("box", ("a",)), of_worker).keys() == set(INHERITED)
    assert environment(BoxPlan("box", ("a",), credentials=True), of_worker).keys() == {*INHERITED, *CREDENTIALS}
    assert environment(BoxPlan("box", ("a",), env={"PATH": "mine"}), of_worker)["PATH"] == "mine"


@pytest.mark.parametrize(
    ("command", "options", "why"),
    [
        ("node resize.mjs", {}, "command: 'node resize.mjs' is not a list of a program and its arguments; write ['node', 'resize.mjs']"),
        ([], {}, "command: [] is not a list"),
        ([""], {}, "command: its program is empty"),
        (["node", 1], {}, "command: 1 is not a text or a path"),
        (["no\0de"], {}, "is not a text or a path"),
        (["node"], {"pool": 0}, "pool: 0 is not a whole number of processes from 1 to 256"),
        (["node"], {"pool": True}, "pool: True"),
        (["node"], {"pool": 257}, "pool: 257"),
        (["node"], {"memory": "512"}, "memory: '512' is not a size"),
        (["node"], {"timeout": 0}, "timeout: 0 is not a number of seconds above 0"),
        (["node"], {"timeout": float("inf")}, "timeout: inf"),
        (["node"], {"calls_per_child": 0}, "calls_per_child: 0 is not a whole number above 0"),
        (["node"], {"credentials": "yes"}, "credentials: 'yes' is neither True nor False"),
        (["node"], {"cwd": 3}, "cwd: 3 is not a text or a path"),
        (["node"], {"env": ["A=1"]}, "env: give a mapping of names and texts"),
        (["node"], {"env": {"A": 1}}, "env: give a mapping"),
        (["node"], {"env": {"A=B": "1"}}, "env: give a mapping"),
        (["node"], {"bind": True}, "bind: a boxed task has no such option"),
        (["node"], {"batch": (10, 5)}, "batch: a boxed task has no such option; give a list to one call"),
        (["node"], {"loop": "trio"}, "loop: a boxed task has no such option; its program has its own process"),
        (["node"], {"ecs": "render"}, "ecs: a boxed task has no such option; serve its queue by Fargate, served_by={'gpu': 'fargate'}"),
        (None, {"ecs": "render"}, "in the image of the fleet, and give its command"),
        (["node"], {"memry": "512M"}, "memry: not an option of a boxed task; known are function, pool, memory"),
        (["node"], {"queue": "absent"}, "queue: 'absent' is not one of this app's queues"),
    ],
)
def test_a_declaration_that_cannot_be_honoured_is_refused_with_the_remedy(command: Any, options: dict[str, Any], why: str) -> None:
    app = Sedano("boxes")
    with pytest.raises(OptionError, match=re.escape(why)):
        app.boxed("box", command, **options)
    assert "box" not in app.registry.tasks


def test_a_name_is_declared_once() -> None:
    app = Sedano("boxes")
    app.boxed("box", ["node"])
    with pytest.raises(OptionError, match="task box: declared twice"):
        app.boxed("box", ["node"])


def test_a_boxed_task_has_the_options_of_every_task() -> None:
    app = Sedano("boxes", queues=("default", "media"))
    spec = app.boxed("box", [sys.executable, Path("host.py")], queue="media", ignore_result=True, time_limit=7, circuit=True).spec
    assert (spec.name, spec.queue, spec.ignore_result, spec.is_async) == ("box", "media", True, True)
    assert spec.time_limits is not None
    assert app.registry.tasks["box"].circuit is not None


@given(st.binary(max_size=60) | st.sampled_from([b'{"id":"c0ffee","ok":1}', b'{"errorMessage":"x"}', b"[]", b"null"]), st.booleans())
def test_any_payload_of_a_function_is_an_answer_or_refused(payload: bytes, failed: bool) -> None:
    try:
        answer = read_payload(payload, "c0ffee", failed=failed)
    except BoxReplyInvalid:
        return
    assert (answer.error is not None) >= failed


@pytest.mark.parametrize(
    ("report", "kind", "ending"),
    [
        ({"errorType": "KeyError", "errorMessage": "'cat'", "stackTrace": ["a", "b"]}, "KeyError", ""),
        ({"errorMessage": "2026-11-24T22:00:00Z 1-2 Task timed out after 3.00 seconds"}, "Error", "timeout"),
        ({"errorType": "Sandbox.Timedout", "errorMessage": "Task timed out after 3.00 seconds"}, "Sandbox.Timedout", "timeout"),
        ({"errorType": "Sandbox.Timedout", "errorMessage": "RequestId: 1 Error: it was ended"}, "Sandbox.Timedout", "timeout"),
        ({"errorType": "Runtime.ExitError", "errorMessage": "RequestId: 1 Error: exit status 1"}, "Runtime.ExitError", "crash"),
        ({"errorType": "Runtime.OutOfMemory", "errorMessage": "signal: killed"}, "Runtime.OutOfMemory", "crash"),
        ({"errorType": "", "errorMessage": "no name"}, "Error", ""),
        ({"errorType": 7, "errorMessage": None, "trace": []}, "Error", ""),
    ],
)
def test_the_report_of_a_function_says_whether_it_raised_or_was_ended(report: dict[str, Any], kind: str, ending: str) -> None:
    answer = read_payload(json.dumps(report).encode(), "c0ffee", failed=True)
    assert answer.error is not None
    assert (answer.error.type_name, answer.ending) == (kind, ending)
    assert answer.error.traceback == "\n".join(report.get("stackTrace", []))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, r"a box needs a program: give a command .* or function="),
        ({"function": "a b"}, r"function: 'a b' is not a name"),
        ({"function": 7}, r"function: 7 is not a name"),
        ({"function": "f", "timeout": 901}, r"timeout: 901 s is longer than a Lambda function may run \(900 s\)"),
        ({"function": "f", "memory": "512M"}, r"memory: a function has its own; leave it out, or give a command too"),
        ({"function": "f", "credentials": True}, r"credentials: a function has its own"),
        ({"function": "f", "env": {}}, r"env: a function has its own"),
    ],
)
def test_a_box_without_a_program_and_options_that_its_function_cannot_honour_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        Sedano("boxes").boxed("resize", **options)
