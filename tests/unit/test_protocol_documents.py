"""The documents of the open protocol tell the truth: schemas and decoder agree, references resolve, examples run."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import boto3
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from moto import mock_aws
from referencing import Registry, Resource

from sedano.errors import MessageRefused
from sedano.model import refusals
from sedano.model.history.run_rows import Chronicle, Host
from sedano.model.messages.attributes import COMMAND, DOCUMENT, EVENT, MAX_ATTEMPT, MAX_CLOCK, MAX_DATA_BYTES, MOST_FOREIGN
from sedano.model.messages.codec import MAX_BYTES, decode, encode
from sedano.model.messages.lineage import DEFAULT_BUDGET, MAX_HOPS
from sedano.model.messages.message import Command, Event
from sedano.model.states import TERMINAL
from sedano.ports import EVENTS, PARKED, RECORDS, command_queue
from tests.unit.generated import ADD, messages, plain
from tests.unit.wrong_attributes import BESIDE, WRONG

FOLDER = Path(__file__).parents[2] / "docs" / "protocol"
PAGE = (FOLDER / "README.md").read_text()
FILES = {path.name: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
SCHEMAS = {name: content for name, content in FILES.items() if name.endswith(".schema.json")}
ASYNC = FILES["asyncapi.json"]
REGISTRY: Registry[Any] = Registry().with_resources((name, Resource.from_contents(content)) for name, content in SCHEMAS.items())
VALIDATORS = {name.split(".")[0]: Draft202012Validator(content, registry=REGISTRY) for name, content in SCHEMAS.items()}
TABLES = {"command": COMMAND, "event": EVENT, "document": DOCUMENT}


def valid(envelope):
    """Tell whether the schema of its type accepts *envelope*."""
    kind = re.fullmatch(r"sedano\.(command|event|document)\.v1", str(envelope.get("type")))
    return kind is not None and VALIDATORS[kind[1]].is_valid(envelope)


def readable(envelope):
    """Tell whether the decoder accepts *envelope*."""
    try:
        decode(json.dumps(envelope))
    except MessageRefused:
        return False
    return True


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_schema_is_one(name):
    Draft202012Validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize("name", TABLES)
def test_a_schema_knows_exactly_the_attributes_that_the_decoder_knows(name):
    assert SCHEMAS[f"{name}.schema.json"]["properties"].keys() == TABLES[name].keys()


@given(messages)
def test_every_message_that_is_written_is_valid(message):
    assert valid(json.loads(encode(message)))


@pytest.mark.parametrize("name", TABLES)
def test_the_examples_of_a_schema_are_messages_and_use_every_attribute(name):
    examples = SCHEMAS[f"{name}.schema.json"]["examples"]
    assert all(valid(example) and readable(example) for example in examples)
    if name == "command":
        assert set().union(*examples) == TABLES[name].keys() - {"datacontenttype"}


BEYOND_A_SCHEMA = {"time": ["2026-02-30T11:00:00Z"], "clock": [str(MAX_CLOCK + 1)], "stamps": ["a=%FF", "a=b,a=c"]} | {
    "headers": ['{"a":1,"a":2}', '{"a":}', '{"":1}', "{  }", f'{{"a":{"[" * 8}{"]" * 8}}}'],
}
"""What is wrong but cannot be said in a schema, besides 1.0 where an integer belongs; the page names it."""


def in_its_words(name, value):
    """Tell whether a schema can say that *value* is wrong for the attribute *name*."""
    whole = type(value) is float and value.is_integer() and name != "specversion"
    return value not in BEYOND_A_SCHEMA.get(name, []) and not whole


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_what_the_decoder_refuses_the_schema_refuses(name, value):
    envelope = json.loads(encode(ADD)) | BESIDE.get(name, {})
    if name == "dataref" or "dataref" in envelope or name == "datasize":
        del envelope["data"]
    assert not readable(envelope | {name: value})
    assert valid(envelope | {name: value}) is not in_its_words(name, value)


@pytest.mark.parametrize(
    "changes",
    [
        {"joinid": "j"},
        {"joinid": "j", "joinindex": 0},
        {"joinindex": 0, "joinsize": 1},
        {"gatherid": "g"},
        {"gathersize": 1},
        {"gatherhandon": True},
        {"dataref": "blob:" + "0" * 64},
        {"datasize": 1},
        {"dataref": "blob:" + "0" * 64, "datasize": 1},
        {"data": []},
        {"data": {"args": {}}},
        {"data": {"kwargs": []}},
        {"data": {"args": [], "extra": 1}},
        {"type": "sedano.command.v2"},
        {"type": "sedano.event.v1", "data": []},
        {"type": "sedano.document.v1"},
        {"type": "sedano.document.v1", "state": "PENDING"},
        {"type": "sedano.document.v1", "state": "SUCCESS", "data": {"value": 1, "error": {}}},
        {"type": "sedano.document.v1", "state": "FAILURE", "data": {"error": {"type": "E"}}},
        {"Upper": 1},
        {"data_base64": "e30="},
        {"x": [1]},
        {"x": {"a": 1}},
        {"x": 1.5},
        {"x": 2**31},
        {"x": "v" * 4097},
    ],
)
def test_what_contradicts_itself_is_refused_by_both(changes):
    envelope = json.loads(encode(ADD)) | changes
    assert not readable(envelope)
    assert not valid(envelope)


@given(messages, st.data())
def test_whatever_the_decoder_reads_the_schema_accepts(message, data):
    envelope = json.loads(encode(message))
    name = data.draw(st.sampled_from([*COMMAND, "state", "x"]))
    good = data.draw(messages.map(lambda other: json.loads(encode(other)).get(name)) | plain)
    envelope = {key: value for key, value in (envelope | {name: good}).items() if value is not None}
    assert valid(envelope) or not readable(envelope)


def test_the_schemas_give_the_limits_of_the_code():
    shared, command = SCHEMAS["attributes.schema.json"]["$defs"], SCHEMAS["command.schema.json"]["properties"]
    assert shared["hops"]["maximum"] == MAX_HOPS
    assert shared["datasize"]["maximum"] == MAX_DATA_BYTES
    assert command["attempt"]["maximum"] == MAX_ATTEMPT
    assert str(MAX_CLOCK) in shared["clock"]["description"]
    assert str(DEFAULT_BUDGET) in shared["budget"]["description"]
    assert str(MOST_FOREIGN) in shared["extension"]["description"]
    assert set(SCHEMAS["document.schema.json"]["properties"]["state"]["enum"]) == TERMINAL


def references(node):
    """Yield every reference in a document."""
    if isinstance(node, dict):
        yield from [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            yield from references(part)


@pytest.mark.parametrize("name", FILES)
def test_every_reference_leads_somewhere(name):
    for reference in references(FILES[name]):
        file, _, pointer = reference.partition("#")
        target = FILES[file.removeprefix("./") or name]
        for step in filter(None, pointer.split("/")):
            target = target[step]
        assert isinstance(target, dict)


def test_the_channels_are_the_queues_of_a_deployment():
    addresses = {channel["address"] for channel in ASYNC["channels"].values()}
    assert addresses == {command_queue("{queue}"), EVENTS, RECORDS, PARKED}
    assert set(ASYNC["channels"]["commands"]["parameters"]) == {"queue"}


def test_the_asyncapi_document_has_the_shape_of_version_3():
    assert ASYNC["asyncapi"] == "3.0.0"
    assert {"title", "version"} <= ASYNC["info"].keys()
    for operation in ASYNC["operations"].values():
        assert operation["action"] in {"send", "receive"}
        channel = operation["channel"]["$ref"]
        assert all(message["$ref"].startswith(f"{channel}/messages/") for message in operation["messages"])
    for message in ASYNC["components"]["messages"].values():
        assert {"title", "summary", "contentType", "payload"} <= message.keys()
        payload = message["payload"]
        assert payload == {"type": "string"} or payload["schemaFormat"] == "application/schema+json;version=draft-2020-12"


def test_every_code_is_listed():
    assert set(ASYNC["components"]["messages"]["parked"]["headers"]["properties"]["reason"]["enum"]) == refusals.ALL
    assert set(re.findall(r"^\| `([a-z-]+)` \|", PAGE, re.MULTILINE)) - set(COMMAND) <= refusals.ALL


def test_what_a_worker_tells_the_recorder_fits_its_schema():
    chronicle = Chronicle(Host("h", 1))
    chronicle.line("message-duplicate", 7, 1.5, uuid="t")
    packed = chronicle.pack()
    assert packed is not None
    assert VALIDATORS["worker-events"].is_valid(json.loads(packed))


def block(language):
    """Return the only fenced block of *language* in the page."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return found


def test_the_command_of_the_page_is_one(tmp_path):
    script = 'aws() { printf "%s\\0" "$@"; }\nQUEUE_URL=https://example.org/queue\n' + block("sh")
    words = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path).stdout.split("\0")
    assert words[:4] == ["sqs", "send-message", "--queue-url", "https://example.org/queue"]
    command = decode(words[words.index("--message-body") + 1])
    assert command == Command("order-4711", "order-4711", "shop.add", "shell", 0.0, 0, (2, 3))


def test_the_program_of_the_page_publishes_an_event():
    with mock_aws():
        sqs = boto3.client("sqs", region_name="eu-central-1")
        url = sqs.create_queue(QueueName="events")["QueueUrl"]
        program = block("python").replace('boto3.client("sqs")', 'boto3.client("sqs", region_name="eu-central-1")')
        exec(compile(program, "docs/protocol/README.md", "exec"), {"QUEUE_URL": url})  # noqa: S102 # the page's own example
        (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
    event = decode(message["Body"])
    assert isinstance(event, Event)
    assert (event.name, event.data) == ("UserRegistered", {"user": 7, "email": "ada@example.org"})


def test_the_page_names_every_attribute_every_file_and_the_limits():
    for name in {*COMMAND, *EVENT, *DOCUMENT} - {"specversion", "type", "datacontenttype"}:
        assert f"`{name}`" in PAGE
    for path in FILES:
        assert f"({path})" in PAGE
    assert MAX_BYTES == 1_048_576
    assert "1 MiB" in PAGE
    assert str(MAX_CLOCK) in PAGE
