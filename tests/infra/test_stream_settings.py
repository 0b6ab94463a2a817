"""Which streams a stage may be connected to: what is no stream's ARN is refused before anything is made, with how to find the right one."""

from typing import Any

import pytest

from infra.config import ConfigError, StageConfig
from infra.stream_arns import DYNAMODB, KINESIS, service_of
from tests.infra.test_config import CLICKS, KEY

PLACE = "eu-central-1:123456789012"
ORDERS = f"arn:aws:dynamodb:{PLACE}:table/orders/stream/2026-11-22T10:00:00.000"


def _refusal(**given: Any) -> str:
    with pytest.raises(ConfigError) as refused:
        StageConfig(**given)
    return str(refused.value)


@pytest.mark.parametrize(
    "arn",
    [
        ORDERS,
        CLICKS,
        ORDERS.replace("arn:aws:", "arn:aws-cn:").replace("eu-central-1", "cn-north-1"),
        CLICKS.replace("123456789012", "999999999999"),
        "${Token[TOKEN.21]}",
    ],
)
def test_a_stream_of_this_account_or_of_another_can_be_connected(arn: str) -> None:
    assert StageConfig(streams={"one": arn}).streams == {"one": arn}


@pytest.mark.parametrize(
    "arn",
    [
        "",
        "orders",
        7,
        None,
        f"arn:aws:sns:{PLACE}:orders",
        f"arn:aws:sqs:{PLACE}:orders.txt",
        f"arn:aws:dynamodb:{PLACE}:table/orders/stream/",
        f"arn:aws:kinesis:{PLACE}:clicks",
    ],
)
def test_what_is_no_stream_is_refused_with_what_one_looks_like(arn: Any) -> None:
    refusal = _refusal(streams={"orders": arn})
    assert refusal.startswith("streams[orders]: ")
    assert "table/orders/stream/2026" in refusal
    assert ":stream/clicks" in refusal


def test_a_table_is_refused_with_how_to_find_its_stream_and_turn_one_on() -> None:
    refusal = _refusal(streams={"orders": f"arn:aws:dynamodb:{PLACE}:table/orders"})
    assert "aws dynamodb describe-table --table-name orders --query Table.LatestStreamArn" in refusal
    assert "aws dynamodb update-table --table-name orders --stream-specification" in refusal


def test_a_table_of_the_cdk_that_was_made_without_a_stream_is_told_how_it_gets_one() -> None:
    assert "made with stream= (a TableV2 with dynamo_stream=)" in _refusal(streams={"orders": None})


def test_a_consumer_is_refused_for_its_stream() -> None:
    assert "the stream itself" in _refusal(streams={"clicks": f"{CLICKS}/consumer/mine:1763805600"})


def test_one_stream_has_one_name() -> None:
    assert _refusal(streams={"orders": ORDERS, "again": ORDERS}).endswith("several tasks may read again")


def test_a_stream_of_another_region_is_refused_as_soon_as_the_region_is_known() -> None:
    refusal = _refusal(streams={"orders": ORDERS}, account="123456789012", region="us-east-1")
    assert refusal.endswith("expected a stream in us-east-1, where the stage is: Lambda reads no stream or queue of another Region")
    config = StageConfig(streams={"orders": ORDERS})
    config.require_in("eu-central-1")
    with pytest.raises(ConfigError, match="a stream in eu-west-1"):
        config.require_in("eu-west-1")


@pytest.mark.parametrize("key", ["", 7, "alias/mine", "arn:aws:kms:eu-central-1:123456789012:alias/mine"])
def test_what_is_no_key_is_refused(key: Any) -> None:
    assert _refusal(streams={"orders": ORDERS}, stream_keys={"orders": key}).startswith("stream_keys[orders]: ")


def test_a_key_belongs_to_a_stream() -> None:
    assert StageConfig(streams={"orders": ORDERS}, stream_keys={"orders": KEY}).stream_keys == {"orders": KEY}
    assert _refusal(streams={"orders": ORDERS}, stream_keys={"order": KEY}).startswith("stream_keys: 'order'")


def test_an_arn_tells_whose_stream_it_is() -> None:
    assert (service_of(ORDERS), service_of(CLICKS)) == (DYNAMODB, KINESIS)
