"""A timer's envelope is read back unchanged; a name is one that a schedule may have; other text is refused."""

import json
import re
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano import memory
from sedano.aws.timers import SchedulerTimers, TimerGroup, arn_of
from sedano.engine.drafts import CommandDraft, Composer
from sedano.errors import ConfigurationError, MessageRefused
from sedano.model.messages import codec
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import TIMER_OPENING, Command
from sedano.model.messages.strict_json import shown
from sedano.model.messages.timestamps import LAST_SECOND
from sedano.model.queues import CLAIM_CHECK_BYTES
from sedano.model.timers import DEPTH, EARLY_S, Timer, opened, sealed, timer_name

texts = st.text(min_size=1)
tenants = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=128)
timers = st.builds(Timer, texts, st.floats(0, 1e11), texts, texts, st.none() | tenants)


@given(timers)
def test_an_envelope_comes_back_as_it_was_and_holds_nothing_that_scheduler_replaces(timer):
    body = sealed(timer)
    assert opened(body) == timer
    assert body.startswith(TIMER_OPENING)
    assert body.isascii()
    assert "<aws." not in body
    assert timer.fires == timer.at - EARLY_S


MOST_INPUT = 256 * 1024
"""The bytes of an input that Scheduler takes."""


@pytest.mark.parametrize("letter", ["<", "<aws.", '"', "\\", "é", "€", "😀", "\n", "x", "<aws.scheduler.scheduled-time>"])
def test_scheduler_takes_the_largest_message_of_any_letters(letter):
    """Data of a message stays below `CLAIM_CHECK_BYTES`; what is longer travels through the blob store."""
    ports = memory.ports()
    compose = Composer("shop@host", LamportClock(lambda: 1), ports)
    one = len(codec.encode_data((letter * 2,), {})) - len(codec.encode_data((letter,), {}))
    text = letter * ((CLAIM_CHECK_BYTES - 100) // one)
    sent = compose.compose(CommandDraft("default", Command("", "t" * 64, "shop.price", args=(text,)))).outgoing
    assert len(sent.body.encode()) > CLAIM_CHECK_BYTES // 2, "the data is in the message"
    body = sealed(Timer("n" * 64, 1e10, "commands:default", sent.body, "tenant"))
    assert len(body.encode()) <= MOST_INPUT
    assert "<aws." not in body
    assert opened(body).body == sent.body


@given(texts, st.integers(0, 20))
def test_a_name_is_one_that_a_schedule_may_bear_and_each_attempt_has_its_own(task_id, attempt):
    assert re.fullmatch(r"[0-9a-zA-Z-_.]{1,64}", timer_name(task_id, attempt))
    assert timer_name(task_id, attempt) == timer_name(task_id, attempt)
    assert timer_name(task_id, attempt) != timer_name(task_id, attempt + 1)
    assert timer_name(task_id, attempt) != timer_name(task_id + "x", attempt)


def test_a_plain_task_id_is_its_timers_name():
    assert timer_name("5eda0000-0000-5000-8000-000000000000", 0) == "5eda0000-0000-5000-8000-000000000000"


@pytest.mark.parametrize(
    "rest",
    ["}", "", '"id":1,"at":2,"queue":"q","tenant":null,"message":"m"}', '"id":"i","at":true,"queue":"q","tenant":null,"message":"m"}',
     '"id":"i","at":Infinity,"queue":"q","tenant":null,"message":"m"}', '"id":"i","at":NaN,"queue":"q","tenant":null,"message":"m"}',
     '"id":"i","at":2,"queue":"q","tenant":5,"message":"m"}', '"id":"i","at":2,"queue":"q","tenant":null,"message":null}', "[" * 100_000,
     *(f'"id":"i","at":{at},"queue":"q","tenant":null,"message":"m"}}' for at in ("-1", "1e300", "1" + "0" * 400, "253402300800")),
     '"id":"i","at":2,"queue":"q","tenant":"two words","message":"m"}',
     '"id":"i","id":"j","at":2,"queue":"q","tenant":null,"message":"m"}'],
)  # fmt: skip
def test_what_is_no_envelope_is_refused(rest):
    with pytest.raises(MessageRefused, match="timer"):
        opened(TIMER_OPENING + rest)


def test_the_arn_of_a_queue_is_read_from_its_address():
    assert arn_of("https://sqs.eu-central-1.amazonaws.com/123456789012/q", "us-east-1") == "arn:aws:sqs:eu-central-1:123456789012:q"
    assert arn_of("https://sqs.cn-north-1.amazonaws.com.cn/123456789012/q", "") == "arn:aws-cn:sqs:cn-north-1:123456789012:q"
    with pytest.raises(ConfigurationError, match="not the address of an SQS queue"):
        arn_of("https://example.org/q", "eu-west-1")


@pytest.mark.parametrize(
    "url",
    [
        "https://vpce-1.sqs.eu-central-1.vpce.amazonaws.com/123456789012/q",
        "https://sqs-fips.us-gov-west-1.amazonaws.com/123456789012/q",
        "http://localhost:4566/123456789012/q",
    ],
)
def test_an_address_without_a_region_gets_the_clients_and_never_none(url: str):
    assert arn_of(url, "us-gov-west-1") == "arn:aws-us-gov:sqs:us-gov-west-1:123456789012:q"
    with pytest.raises(ConfigurationError, match="names no Region; set AWS_DEFAULT_REGION"):
        arn_of(url, "")


def test_a_stage_without_a_group_for_timers_says_what_to_do():
    with pytest.raises(ConfigurationError, match=r"SEDANO_TIMERS_GROUP .* deploy the stage again"):
        SchedulerTimers(None, TimerGroup("", ""), {})


def test_a_timer_fires_a_minute_and_a_half_before_its_time():
    assert Timer("n", 100.5, "q", "b").fires == 10.5
    assert (EARLY_S, DEPTH) == (90, 2)


@pytest.mark.parametrize(
    ("task_id", "attempt", "name"),
    [
        ("a-Z_0.9", 0, "a-Z_0.9"), ("a", 3, "a.3"), ("x" * 64, 0, "x" * 64), ("x" * 62, 1, "x" * 62 + ".1"),
        *((wrong, 0, "sha256." + sha256(wrong.encode("utf-8", "surrogatepass")).hexdigest()[:57])
          for wrong in ("", "a b", "é", "\udcff", "x" * 65)),
        ("x" * 63, 1, "sha256." + sha256(b"x" * 63 + b".1").hexdigest()[:57]),
    ],
)  # fmt: skip
def test_the_name_of_a_timer_is_that_of_its_task_or_its_digest(task_id, attempt, name):
    assert timer_name(task_id, attempt) == name


def _envelope(**changed):
    return json.dumps({"id": "i", "at": 2, "queue": "q", "tenant": None, "message": "m", **changed})


@pytest.mark.parametrize("at", [0, 0.5, LAST_SECOND, float(LAST_SECOND)])
@pytest.mark.parametrize("tenant", [None, "t", "~" * 128])
def test_an_envelope_is_opened_field_by_field(at, tenant):
    assert opened(_envelope(at=at, tenant=tenant)) == Timer("i", float(at), "q", "m", tenant)


@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [
        *((name, value, "a string") for name in ("id", "queue", "message") for value in ("", None, 5)),
        *(("at", value, "a time in epoch seconds, from 1970 to 9999") for value in (None, "2", True, -1, -0.5, LAST_SECOND + 1)),
        *(("tenant", value, "1 to 128 visible ASCII characters, or null") for value in ("", "a b", "~" * 129, 5, False)),
    ],
)
def test_a_field_that_is_wrong_is_refused_with_what_it_should_be(field, value, wanted):
    with pytest.raises(MessageRefused) as caught:
        opened(_envelope(**{field: value}))
    assert (caught.value.code, caught.value.field) == ("schema", f"timer.{field}")
    assert str(caught.value) == f"schema: timer.{field}: {shown(value)} is not {wanted}"


@pytest.mark.parametrize("body", ["[]", "5", '"a"', "null"])
def test_what_is_no_object_is_no_envelope(body):
    with pytest.raises(MessageRefused, match=r"^schema: timer: the envelope of a timer is a JSON object$"):
        opened(body)
