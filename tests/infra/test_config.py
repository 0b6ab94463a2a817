"""A setting that cannot be used is refused before anything is made, and the message begins with its name."""

import sys
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest

from infra.config import ConfigError, StageConfig
from infra.context import Deployment, from_context

CODE = Path(__file__).resolve().parents[1] / "deploy" / "app"
GOOD = {"app": "tiny:app", "code": str(CODE)}
TOPIC = "arn:aws:sns:eu-central-1:123456789012:on-call"
CLICKS = "arn:aws:kinesis:eu-central-1:123456789012:stream/clicks"
KEY = "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"


def _deployment(**given: str) -> Deployment:
    return from_context({**GOOD, **given})


def test_an_application_and_its_directory_are_all_that_must_be_given() -> None:
    asked = _deployment()
    assert (asked.app, asked.code, asked.requirements) == ("tiny:app", CODE, None)
    assert asked.config == StageConfig()
    assert (asked.config.stage, asked.config.local, asked.config.batch) == ("dev", False, 10)
    assert (asked.config.python, asked.config.timeout, asked.config.visibility) == ("3.13", 60, 360)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("stage", ""), ("stage", "Prod"), ("stage", "a" * 17), ("stage", "1st"),
        ("app", ""), ("code", ""),
        ("account", "12345"), ("account", "prod"), ("region", "Frankfurt"),
        ("local", "perhaps"), ("production", "maybe"),
        ("memory", "127"), ("memory", "10241"), ("memory", "1.5"),
        ("timeout", "0"), ("timeout", "901"), ("timeout", "soon"),
        ("batch", "0"), ("batch", "11"),
        ("concurrency", "1"), ("concurrency", "1001"), ("queue_concurrency", "mail"),
        ("retention", "31"), ("blob_days", "28"),
        ("most_reads", "0"), ("most_writes", "-1"), ("most_budget", "0"), ("most_budget", "2147483648"), ("budget", "lots"),
        ("most_failures", "-1"),
        ("tags", "team"), ("tags", "aws:team=shop"), ("tags", "team=<b>"),
        ("permissions_boundary", "developers"), ("code_signing", "csc-1"), ("alarm_topic", "arn:aws:sns:on-call"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_used_is_refused_by_name(field: str, value: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{field}: .*expected"):
        _deployment(**{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("stage", None), ("memory", 512.0), ("memory", True), ("batch", "10"), ("local", "false"), ("production", 1),
        ("queue_concurrency", {"mail": 1}), ("tags", {"team": 7}), ("budget", 0), ("budget", True), ("pipeline_lag", 25),
    ],
)  # fmt: skip
def test_a_value_of_another_kind_is_refused_where_a_cdk_app_gives_it(field: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=rf"^{field}.*expected"):
        StageConfig(alarm_topic=TOPIC, **{field: value})


@pytest.mark.parametrize(("given", "near"), [("concurency", "concurrency"), ("blob-days", "blob_days"), ("Stage", "stage")])
def test_a_misspelt_setting_is_refused_with_the_one_that_was_meant(given: str, near: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{given}: .*did you mean {near}\?"):
        _deployment(**{given: "7"})


def test_a_setting_that_resembles_none_is_refused_with_all_there_are() -> None:
    with pytest.raises(ConfigError, match=r"^colour: 'red' .*alarm_topic, app, .*timeout"):
        _deployment(colour="red")


def test_what_the_cdk_itself_keeps_in_the_context_is_not_ours_to_judge() -> None:
    assert _deployment(**{"@aws-cdk/core:flag": "true", "aws:cdk:x": "1", "acknowledged-issue-numbers": "[1]"}).config == StageConfig()


@pytest.mark.parametrize(
    ("region", "partition"), [("us-gov-west-1", "aws-us-gov"), ("cn-north-1", "aws-cn"), ("eusc-de-east-1", "aws-eusc")]
)
def test_a_stage_stands_in_any_partition_of_aws(region: str, partition: str) -> None:
    place = f"{region}:123456789012"
    config = StageConfig(
        account="123456789012", region=region, alarm_topic=f"arn:{partition}:sns:{place}:on-call",
        streams={"clicks": f"arn:{partition}:kinesis:{place}:stream/clicks"},
        stream_keys={"clicks": f"arn:{partition}:kms:{place}:key/0123456789ab"},
    )  # fmt: skip
    assert config.region == region


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alarm_topic", "arn:aws:sns:eu-central-1:123456789012:on-call"),
        ("code_signing", "arn:aws:lambda:eu-central-1:123456789012:code-signing-config:csc-0123456789abcdefg"),
    ],
)
def test_what_is_in_another_region_is_refused_as_soon_as_the_region_is_known(name: str, value: str) -> None:
    config = StageConfig(**{name: value})
    config.require_in(None)
    config.require_in("eu-central-1")
    with pytest.raises(ConfigError, match=rf"^{name}: '{value}' cannot be used; expected an ARN in eu-west-1, where the stage is"):
        config.require_in("eu-west-1")
    with pytest.raises(ConfigError, match=rf"^{name}: "):
        StageConfig(account="123456789012", region="eu-west-1", **{name: value})


def test_a_key_of_another_region_than_its_stream_is_refused() -> None:
    elsewhere = KEY.replace("eu-central-1", "eu-west-1")
    config = StageConfig(streams={"clicks": CLICKS}, stream_keys={"clicks": elsewhere})
    with pytest.raises(ConfigError, match=r"^stream_keys\[clicks\]: .* expected an ARN in eu-central-1, where the stage is"):
        config.require_in("eu-central-1")


def test_an_account_and_a_region_belong_together() -> None:
    with pytest.raises(ConfigError, match=r"^region: .*because account is given"):
        StageConfig(account="123456789012")
    with pytest.raises(ConfigError, match=r"^account: .*because region is given"):
        StageConfig(region="eu-central-1")


def test_a_budget_that_tells_nobody_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^budget: .*alarm_topic"):
        StageConfig(budget=20)


def test_the_edges_of_every_range_are_usable() -> None:
    for field, values in {
        "memory": ("128", "10240"),
        "timeout": ("1", "900"),
        "batch": ("1", "10"),
        "concurrency": ("2", "1000"),
        "webhook_concurrency": ("0", "1", "1000"),
        "retention": ("1", "365"),
        "blob_days": ("29", "3650"),
        "history_days": ("30", "3650"),
        "stage": ("a", "a" * 16),
        "alarm_topic": (TOPIC,),
        "permissions_boundary": ("arn:aws:iam::123456789012:policy/team/developers", "arn:aws:iam::aws:policy/PowerUserAccess"),
        "code_signing": ("arn:aws:lambda:eu-central-1:123456789012:code-signing-config:csc-0123456789abcdefg",),
    }.items():
        for value in values:
            assert str(getattr(_deployment(**{field: value}).config, field)) == value


def test_every_field_is_a_setting_of_the_command_line() -> None:
    texts = {
        "account": "123456789012", "region": "eu-central-1", "stage": "staging", "queue_concurrency": "mail=2, bulk=50",
        "tags": "team=shop,cost centre=42", "local": "yes", "production": "yes", "schedules": "no", "worker_url": "yes",
        "task_metrics": "no", "aws_client": "botocore", "group_commit": "yes", "empty_buckets": "no", "budget": "12.50",
        "alarm_topic": TOPIC,
        "permissions_boundary": "arn:aws:iam::123456789012:policy/b", "pipeline": "glue",
        "pipeline_by_task": "no", "pipeline_schedule": "cron(15 * * * ? *)",
        "code_signing": "arn:aws:lambda:eu-central-1:123456789012:code-signing-config:csc-0123456789abcdefg", "retention": "90",
        "streams": f"clicks={CLICKS}", "stream_keys": f"clicks={KEY}", "own_key": "yes", "release": "all-at-once",
        "tables": "orders=arn:aws:dynamodb:eu-central-1:123456789012:table/orders",
        "served_by": "default=fargate,gpu=process", "fleet": "image=shop:7,drain=30",
        "functions": "resize=arn:aws:lambda:eu-central-1:123456789012:function:resize", "sinks": "lake=arn:aws:s3:::lake/raw/",
    }  # fmt: skip
    numbers = {"memory": "200", "timeout": "9", "batch": "9", "concurrency": "10", "blob_days": "40", "most_reads": "9", "most_writes": "9",
               "most_budget": "9", "most_failures": "9", "pipeline_lag": "9", "webhook_concurrency": "9",
               "history_days": "400"}  # fmt: skip
    assert set(texts) | set(numbers) == {field.name for field in fields(StageConfig)}
    config = _deployment(**texts, **numbers).config
    assert dict(config.queue_concurrency) == {"mail": 2, "bulk": 50}
    assert (config.concurrency_of("mail"), config.concurrency_of("default")) == (2, 10)
    assert {name: getattr(config, name) for name in numbers} == {name: int(text) for name, text in numbers.items()}
    assert (dict(config.tags), config.budget, config.local, config.production) == ({"team": "shop", "cost centre": "42"}, 12.5, True, True)
    assert (config.schedules, config.own_key) == (False, True)
    assert dict(config.tables) == {"orders": "arn:aws:dynamodb:eu-central-1:123456789012:table/orders"}
    assert dict(config.functions) == {"resize": "arn:aws:lambda:eu-central-1:123456789012:function:resize"}
    assert (dict(config.streams), dict(config.stream_keys)) == ({"clicks": CLICKS}, {"clicks": KEY})


def test_a_config_does_not_change_after_it_was_judged() -> None:
    queues = {"mail": 2}
    config = StageConfig(queue_concurrency=queues)
    queues["mail"] = 0
    assert config.concurrency_of("mail") == 2
    with pytest.raises(TypeError):
        config.queue_concurrency["mail"] = 0  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        config.memory = 0  # type: ignore[misc]


def test_the_local_stage_runs_this_machines_python_and_gives_up_soon() -> None:
    config = _deployment(local="true").config
    assert config.python == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert (config.timeout, config.visibility, config.concurrency, config.concurrency_aside) == (6, 36, 4, 2)


def test_only_production_outlives_its_stack() -> None:
    assert StageConfig(stage="prod").permanent
    assert StageConfig(stage="live", production=True).permanent
    assert not StageConfig(stage="prod-copy").permanent
    assert not StageConfig(stage="prod", production=False).permanent
