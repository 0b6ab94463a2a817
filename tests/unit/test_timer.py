"""A timer's envelope is read back unchanged; a name is one that a schedule may have; other text is refused."""

import re

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
from sedano.model.queues import CLAIM_CHECK_BYTES
from sedano.model.timers import EARLY_S, Timer, opened, sealed, timer_name

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
