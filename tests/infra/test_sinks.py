"""Sinks in the settings of a stage: the worker may write to each of them, and no function to anything else of theirs."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.application import application
from infra.config import ConfigError, StageConfig
from infra.sink_places import kind_of, region_of
from sedano.errors import ConfigurationError
from sedano.local.stage import stage_context
from sedano.local.synthesis import synthesise
from sedano.model.sinks.places import KINDS, place_of
from tests.deploy.test_sinks import CODE as SENDS
from tests.infra.template import read

PLACE = "eu-central-1:123456789012"
SINKS = {
    "bi": f"arn:aws:dynamodb:{PLACE}:table/prices",
    "lake": "arn:aws:s3:::shop-lake/documents/",
    "feed": f"arn:aws:firehose:{PLACE}:deliverystream/feed",
    "bus": f"arn:aws:events:{PLACE}:event-bus/shop",
    "queue": f"arn:aws:sqs:{PLACE}:partner.fifo",
    "topic": f"arn:aws:sns:{PLACE}:news",
    "nowhere": "https://crm.example.org/documents?v=1",
}
OTHERS = [
    "", "prices", "arn:aws:dynamodb:eu-central-1:123456789012:table/*", "arn:aws:s3:::", "arn:aws:s3:::Lake", "arn:aws:sqs::1:q",
    "arn:aws:lambda:eu-central-1:123456789012:function:f", "http://crm.example.org/", "https://", "https://user:pass@crm.example.org/",
    "https://crm.example.org/#part", "https://crm.example.org/ a", "https://[::1", "http://127.0.0.1:8080/x", "http://[::1]/", "http://10.0.0.1/",
    "https://10.0.0.1/x", "https://crm.example.org:99999/", "ftp://crm.example.org/", "https://crm_example/", "https://ü.example/",
]  # fmt: skip


def test_the_worker_may_write_to_each_sink_and_no_other_function_may(tmp_path_factory: pytest.TempPathFactory) -> None:
    text = ",".join(f"{name}={place}" for name, place in SINKS.items())
    there = {"region": "eu-central-1", "account": "123456789012"}
    context = {**stage_context("sends:app", SENDS), **there, "local": "false", "stage": "prod", "sinks": text}
    made = read(synthesise(context, tmp_path_factory.mktemp("sinks") / "cdk.out"))
    wanted = {
        "dynamodb:PutItem": SINKS["bi"], "s3:PutObject": "arn:aws:s3:::shop-lake/documents/*", "firehose:PutRecord": SINKS["feed"],
        "events:PutEvents": SINKS["bus"], "sqs:SendMessage": SINKS["queue"], "sqs:GetQueueUrl": SINKS["queue"],
        "sns:Publish": SINKS["topic"],
    }  # fmt: skip
    for action, resource in wanted.items():
        assert resource in made.may("worker", action), action
        assert not any(resource in made.may(other, action) for other in made.functions() if other != "worker"), action
    (secret,) = [one for one in made.may("worker", "ssm:GetParameter") if "sinks" in one]
    assert secret.endswith("parameter/sedano/prod/sinks/nowhere")
    assert json.loads(made.functions()["worker"]["Environment"]["Variables"]["SEDANO_SINKS"]) == SINKS


@pytest.mark.parametrize(
    ("sinks", "words"),
    [
        ({"bi": SINKS["bi"]}, r"sinks: 'bi' cannot be used; expected bus= and its place beside it, because sends:app declares"),
        ({**SINKS, "other": SINKS["bi"]}, r"sinks: 'other' cannot be used; expected one of the sinks of sends:app: bi, bus, feed, "),
    ],
)
def test_an_app_is_not_deployed_with_a_sink_that_has_no_place_or_a_place_that_has_no_sink(sinks: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        application("sends:app", SENDS, StageConfig(stage="prod", sinks=sinks))


@pytest.mark.parametrize(
    ("sinks", "words"),
    [
        ({"bi": "prices"}, r"sinks\[bi\]: 'prices' cannot be used; expected the ARN of a table, a bucket"),
        ({"hook": "http://crm.example.org/"}, r"sinks\[hook\]: .*https://"),
        ({"b i": SINKS["bi"]}, r"sinks: 'b i' cannot be used; expected a name of letters"),
    ],
)
def test_a_sink_that_cannot_be_written_to_is_refused(sinks: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        StageConfig(sinks=sinks)


def test_a_sink_in_another_region_is_refused_but_for_buckets_and_webhooks() -> None:
    with pytest.raises(ConfigError, match=r"sinks\[bi\]: .*expected an ARN in eu-west-1"):
        StageConfig(account="123456789012", region="eu-west-1", sinks={"bi": SINKS["bi"]})
    StageConfig(account="123456789012", region="eu-west-1", sinks={name: SINKS[name] for name in ("lake", "nowhere")})


def agrees(text: str) -> bool:
    """Whether the settings and the library read *text* alike."""
    try:
        found = place_of(text)
    except ConfigurationError:
        return kind_of(text) is None
    return (found.kind, found.region) == (kind_of(text), region_of(text))


@pytest.mark.parametrize("text", [*SINKS.values(), *OTHERS])
def test_the_settings_accept_what_the_worker_reads(text: str) -> None:
    assert agrees(text)


def test_each_kind_of_sink_is_among_the_examples() -> None:
    assert {kind_of(place) for place in SINKS.values()} == set(KINDS)


@given(st.sampled_from([*SINKS.values(), *OTHERS]), st.integers(0, 60), st.text("aZ0:/.-@#[]%é \\?", max_size=3))
def test_the_settings_accept_what_the_worker_reads_with_changes(text: str, place: int, change: str) -> None:
    assert agrees(text[:place] + change + text[place + 1 :])
