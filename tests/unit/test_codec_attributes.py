"""Each attribute holds what the protocol says, at its edges; a refusal has the right code and names the field."""

import json
import re

import pytest

from sedano.errors import MessageRefused
from sedano.model import refusals
from sedano.model.messages.attributes import LONGEST_FOREIGN, MAX_CLOCK, MAX_INT32, MOST_FOREIGN
from sedano.model.messages.codec import decode, decode_data, decode_event_data
from sedano.model.messages.lineage import ROOT, Lineage
from sedano.model.messages.message import Gather, JoinMember, Section, TimeLimits
from tests.unit.wrong_attributes import BESIDE, REF, TRACE, WRONG

COMMAND = {"specversion": "1.0", "id": "m", "source": "me", "type": "sedano.command.v1", "subject": "shop.add"}
EVENT = COMMAND | {"type": "sedano.event.v1", "subject": "UserRegistered"}
DOCUMENT = COMMAND | {"type": "sedano.document.v1", "taskid": "t", "state": "SUCCESS"}


def read(envelope, **changes):
    """Decode *envelope* with *changes*."""
    return decode(json.dumps(envelope | changes))


def refused(envelope, **changes):
    """Return code and field of the refusal of *envelope* with *changes*."""
    with pytest.raises(MessageRefused) as caught:
        read(envelope, **changes)
    return caught.value.code, caught.value.field


@pytest.mark.parametrize("envelope", [COMMAND, EVENT, DOCUMENT], ids=["command", "event", "document"])
@pytest.mark.parametrize("name", ["specversion", "id", "source", "type", "subject"])
def test_what_every_message_needs_is_missed_by_name(envelope, name):
    body = {key: value for key, value in envelope.items() if key != name}
    for missing in (body, envelope | {name: None}):
        assert refused(missing) == (refusals.SCHEMA, name)


@pytest.mark.parametrize(("name", "field", "default"), [("taskid", "task_id", DOCUMENT["id"]), ("state", "state", "SUCCESS")])
def test_a_document_without_its_task_and_state_is_an_object_of_its_own(name, field, default):
    found = decode(json.dumps({key: value for key, value in DOCUMENT.items() if key != name}))
    assert getattr(found, field) == default


@pytest.mark.parametrize("kind", ["command", "event", "document"])
def test_a_higher_version_of_a_known_kind_is_newer_and_not_wrong(kind):
    for version in (2, 10, 999_999_999):
        assert refused(COMMAND, type=f"sedano.{kind}.v{version}", attempt="of another meaning") == (refusals.NEWER, "type")


@pytest.mark.parametrize(
    "kind",
    [
        "",
        "sedano.command",
        "sedano.command.v0",
        "sedano.command.v01",
        "sedano.command.v1 ",
        "sedano.command.v-2",
        "other.v2",
        "sedano.reply.v2",
        "SEDANO.COMMAND.V1",
        "sedano.command.v1.2",
        "sedano.command.v" + "9" * 99,
        1,
        ["sedano.command.v1"],
    ],
)
def test_a_type_of_no_known_kind_is_against_the_schema(kind):
    assert refused(COMMAND, type=kind) == (refusals.SCHEMA, "type")


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_a_wrong_attribute_is_refused_by_its_name(name, value):
    assert refused(COMMAND | BESIDE.get(name, {}), **{name: value}) == (refusals.SCHEMA, name)


@pytest.mark.parametrize(
    "name", ["time", "clock", "rootid", "hops", "budget", "budgetmark", "tenant", "traceparent", "tracestate", "stamps", "dataref"]
)
def test_an_event_is_as_strict_as_a_command(name):
    for value in WRONG[name]:
        assert refused(EVENT | BESIDE.get(name, {}), **{name: value}) == (refusals.SCHEMA, name)


@pytest.mark.parametrize(
    ("name", "value", "field", "wanted"),
    [
        ("id", "!" * 256, "id", "!" * 256),
        ("subject", "x" * 256, "task", "x" * 256),
        ("subject", "Größe.\U0001f600", "task", "Größe.\U0001f600"),
        ("clock", str(MAX_CLOCK), "clock", MAX_CLOCK),
        ("clock", "0", "clock", 0),
        ("attempt", 0, "attempt", 0),
        ("attempt", 1_000_000, "attempt", 1_000_000),
        ("hops", 128, "lineage", Lineage(hops=128)),
        ("hops", 0, "lineage", ROOT),
        ("budget", 0, "lineage", Lineage(budget=0)),
        ("budget", MAX_INT32, "lineage", Lineage(budget=MAX_INT32)),
        ("budgetmark", "k1;" + "0a" * 16, "lineage", Lineage(mark="k1;" + "0a" * 16)),
        ("tenant", "~" * 128, "tenant", "~" * 128),
        ("traceparent", TRACE, "traceparent", TRACE),
        ("tracestate", "rojo=00f067aa,a/b@c=~x y", "tracestate", "rojo=00f067aa,a/b@c=~x y"),
        ("tracestate", ",".join(f"k{n}=v" for n in range(32)), "tracestate", ",".join(f"k{n}=v" for n in range(32))),
        ("stamps", "b=1,a=%c3%BC", "stamps", "b=1,a=%c3%BC"),
        ("stamps", "a=" + "b" * 254, "stamps", "a=" + "b" * 254),
        ("ignoreresult", False, "ignore_result", False),
        ("ignoreresult", True, "ignore_result", True),
        ("section", "1:4", "section", Section(1, 4)),
        ("section", "999999:999999", "section", Section(999_999, 999_999)),
        ("timelimits", "0.05:", "time_limits", TimeLimits(0.05, None)),
        ("timelimits", ":9999999", "time_limits", TimeLimits(None, 9_999_999.0)),
        ("timelimits", "50:60", "time_limits", TimeLimits(50.0, 60.0)),
        ("datacontenttype", "application/json", "args", ()),
        ("time", "1970-01-01T00:00:00Z", "time", 0.0),
        ("expirytime", "2026-11-20T12:00:00+01:00", "expires", 1_795_172_400.0),
    ],
)
def test_the_edge_of_what_is_allowed_is_allowed(name, value, field, wanted):
    assert getattr(read(COMMAND, **{name: value}), field) == wanted


def test_more_than_128_hops_have_a_code_of_their_own():
    for hops in (129, 2**40):
        assert refused(COMMAND, hops=hops) == (refusals.HOPS, "hops")
        assert refused(EVENT, hops=hops) == (refusals.HOPS, "hops")


def test_membership_of_a_join_is_told_completely_or_not_at_all():
    whole = {"joinid": "j", "joinindex": 1, "joinsize": 2}
    assert read(COMMAND, **whole).member == JoinMember("j", 1, 2)
    for missing in whole:
        assert refused(COMMAND, **{k: v for k, v in whole.items() if k != missing}) == (refusals.SCHEMA, missing)
    assert refused(COMMAND, **whole | {"joinindex": 2}) == (refusals.SCHEMA, "joinindex")


def test_a_body_of_a_join_says_of_which_size_and_may_decline_the_results():
    whole = {"gatherid": "g", "gathersize": 0}
    assert read(COMMAND, **whole).gather == Gather("g", 0, hand_on=True)
    assert read(COMMAND, **whole, gatherhandon=False).gather == Gather("g", 0, hand_on=False)
    assert refused(COMMAND, gatherid="g") == (refusals.SCHEMA, "gathersize")
    assert refused(COMMAND, gathersize=1) == (refusals.SCHEMA, "gatherid")
    assert refused(COMMAND, gatherhandon=True) == (refusals.SCHEMA, "gatherid")


@pytest.mark.parametrize("envelope", [COMMAND, EVENT], ids=["command", "event"])
def test_data_is_here_or_behind_a_claim_check_whose_size_is_known(envelope):
    assert read(envelope, dataref=REF, datasize=0).data_ref.size == 0
    assert refused(envelope, dataref=REF) == (refusals.SCHEMA, "datasize")
    assert refused(envelope, datasize=1) == (refusals.SCHEMA, "dataref")
    assert refused(envelope, dataref=REF, datasize=1, data={}) == (refusals.SCHEMA, "data")


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ([], "data"),
        ("text", "data"),
        (1, "data"),
        (False, "data"),
        ({"args": {}}, "data.args"),
        ({"args": "ab"}, "data.args"),
        ({"args": None}, "data.args"),
        ({"kwargs": []}, "data.kwargs"),
        ({"kwargs": None}, "data.kwargs"),
        ({"args": [], "kwarg": {}}, "data"),
        ({"a": 1}, "data"),
    ],
)
def test_the_data_of_a_command_is_args_and_kwargs_and_nothing_else(data, field):
    assert refused(COMMAND, data=data) == (refusals.SCHEMA, field)
    with pytest.raises(MessageRefused, match=rf"^schema: {re.escape(field)}: "):
        decode_data(json.dumps(data))


def test_a_command_without_data_has_no_arguments():
    for data in (None, {}, {"args": []}, {"kwargs": {}}, {"args": [], "kwargs": {}}):
        command = read(COMMAND, data=data)
        assert (command.args, command.kwargs) == ((), {})


def test_the_data_of_an_event_is_an_object():
    assert read(EVENT, data={"a": [1]}).data == {"a": [1]}
    assert read(EVENT).data == {}
    for data in ([], "text", 1):
        assert refused(EVENT, data=data) == (refusals.SCHEMA, "data")
        with pytest.raises(MessageRefused, match=r"^schema: data: "):
            decode_event_data(json.dumps(data))


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ([], "data"),
        ({"result": 1}, "data"),
        ({"value": 1, "error": {"type": "E", "message": ""}}, "data"),
        ({"error": None}, "data.error"),
        ({"error": "E"}, "data.error"),
        ({"error": {"type": "E"}}, "data.error"),
        ({"error": {"type": "E", "message": "m", "cause": "c"}}, "data.error"),
        ({"error": {"type": "E", "message": 1}}, "data.error.message"),
    ],
)
def test_the_data_of_a_document_is_a_value_or_an_error(data, field):
    assert refused(DOCUMENT, data=data) == (refusals.SCHEMA, field)


def test_a_document_holds_a_final_state():
    for state in ("PENDING", "RETRY", "success", "", 1):
        assert refused(DOCUMENT, state=state) == (refusals.SCHEMA, "state")
    failed = read(DOCUMENT, state="FAILURE", data={"error": {"type": "E", "message": "m"}})
    assert failed.error == ("E", "m", "")


@pytest.mark.parametrize("name", ["Tenant", "task_id", "data_base64", "", "x-y", "é", "a" * 65])
def test_an_attribute_that_cloudevents_could_not_name_is_refused(name):
    assert refused(COMMAND, **{name: "v"})[0] == refusals.SCHEMA


@pytest.mark.parametrize("value", [1.5, [], {}, MAX_INT32 + 1, -MAX_INT32 - 2, "x" * (LONGEST_FOREIGN + 1)])
def test_an_extension_of_others_holds_no_structure_and_no_bulk(value):
    assert refused(COMMAND, partitionkey=value) == (refusals.SCHEMA, "partitionkey")


def test_there_are_only_so_many_extensions_of_others():
    most = {f"x{n}": "v" * LONGEST_FOREIGN if n == 0 else n for n in range(MOST_FOREIGN)}
    assert read(COMMAND, **most).id == "m"
    assert refused(COMMAND, **most, y=None) == (refusals.SCHEMA, "y")
