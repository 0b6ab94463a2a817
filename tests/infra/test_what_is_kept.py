"""Tables and buckets: one item a key, restorable, private; and in production nothing is deleted with its stack."""

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from infra import cost
from infra.config import ConfigError, StageConfig
from infra.stacks.state import StateStack
from infra.templates import templates as stacks
from tests.infra.invariants import ages_event_lines_alone
from tests.infra.template import Templates, target

KEPT = ("AWS::DynamoDB::Table", "AWS::S3::Bucket")


def test_a_table_has_one_key_forgets_by_ttl_and_can_be_restored(templates: Templates) -> None:
    control = target(templates.outputs["SedanoControlTable"])
    for name, table in templates.of_type("DynamoDB::Table").items():
        assert table["KeySchema"] == [{"AttributeName": "pk", "KeyType": "HASH"}], name
        # The members, the roll-ups of a day and the failed tasks of a day are found by indexes that contain nothing else.
        indexed = {"knd": "S", "rod": "S", "rom": "N"} if name == control else {"tri": "S", "tat": "N"}
        assert {one["AttributeName"]: one["AttributeType"] for one in table["AttributeDefinitions"]} == {"pk": "S", **indexed}
        assert [key["AttributeName"] for index in table["GlobalSecondaryIndexes"] for key in index["KeySchema"]] == list(indexed)
        assert table["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}, name
        assert table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True, name
        assert table["BillingMode"] == "PAY_PER_REQUEST", name


def test_the_control_table_is_a_trust_zone_of_its_own(templates: Templates) -> None:
    ledger, control = (target(templates.outputs[name]) for name in ("SedanoLedgerTable", "SedanoControlTable"))
    assert {ledger, control} == set(templates.of_type("DynamoDB::Table"))


def test_a_bucket_is_encrypted_and_private(templates: Templates) -> None:
    for name, bucket in templates.of_type("S3::Bucket").items():
        assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}, name
        assert bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"], name
        assert bucket["OwnershipControls"]["Rules"] == [{"ObjectOwnership": "BucketOwnerEnforced"}], name


def test_large_values_outlive_every_message_that_names_them_and_history_is_kept_for_ever(templates: Templates) -> None:
    buckets = templates.of_type("S3::Bucket")
    expiry = {
        setting: [rule["ExpirationInDays"] for rule in _rules(buckets[target(value)]) if "ExpirationInDays" in rule]
        for setting, value in templates.outputs.items()
        if setting.endswith("Bucket")
    }
    assert expiry == {"SedanoBlobsBucket": [60], "SedanoHistoryBucket": []}


def test_event_lines_age_where_that_is_asked_for_and_nothing_else_does(tmp_path: Path) -> None:
    app = cdk.App(outdir=str(tmp_path))
    StateStack(app, config=StageConfig(stage="prod", history_days=400))
    app.synth()
    (template,) = map(json.loads, stacks(tmp_path).values())
    buckets = {name: one for name, one in template["Resources"].items() if one["Type"] == "AWS::S3::Bucket"}
    ages = [rule for name in buckets if "History" in name for rule in _rules(buckets[name]["Properties"]) if "ExpirationInDays" in rule]
    assert ages == [{"ExpirationInDays": 400, "Prefix": "events/", "Status": "Enabled"}]
    aged = Templates(tmp_path, template["Resources"], {})
    assert [ages_event_lines_alone(aged, name) for name in buckets] == [None, None]
    assert "Event lines are kept for 400 days, and the tables made of them for ever: 0.023 a month" in cost.page(cost.read(tmp_path))


@pytest.mark.parametrize("days", [29, 3651, 0, True, "400"])
def test_event_lines_are_kept_for_a_month_at_least(days: Any) -> None:
    with pytest.raises(ConfigError, match=r"^history_days: .* cannot be used; expected a whole number from 30 to 3650"):
        StageConfig(history_days=days)


def test_production_data_outlives_its_stack(production: Templates) -> None:
    kept = {name: resource for name, resource in production.resources.items() if resource["Type"] in KEPT}
    assert {resource["DeletionPolicy"] for resource in kept.values()} == {"Retain"}
    assert all(table["DeletionProtectionEnabled"] for table in production.of_type("DynamoDB::Table").values())


def _rules(bucket: dict[str, dict[str, list[dict[str, object]]]]) -> list[dict[str, object]]:
    return bucket["LifecycleConfiguration"]["Rules"]
