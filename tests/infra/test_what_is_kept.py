"""Tables and buckets: one item a key, restorable, private; and in production nothing is deleted with its stack."""

from tests.infra.template import Templates, target

KEPT = ("AWS::DynamoDB::Table", "AWS::S3::Bucket")


def test_a_table_has_one_key_forgets_by_ttl_and_can_be_restored(templates: Templates) -> None:
    control = target(templates.outputs["SedanoControlTable"])
    for name, table in templates.of_type("DynamoDB::Table").items():
        assert table["KeySchema"] == [{"AttributeName": "pk", "KeyType": "HASH"}], name
        indexed = ["knd"] if name == control else []  # the members are found by an index of their own, of which nothing else is part
        assert {one["AttributeName"]: one["AttributeType"] for one in table["AttributeDefinitions"]} == dict.fromkeys(["pk", *indexed], "S")
        assert [index["KeySchema"][0]["AttributeName"] for index in table.get("GlobalSecondaryIndexes", [])] == indexed
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


def test_production_data_outlives_its_stack(production: Templates) -> None:
    kept = {name: resource for name, resource in production.resources.items() if resource["Type"] in KEPT}
    assert {resource["DeletionPolicy"] for resource in kept.values()} == {"Retain"}
    assert all(table["DeletionProtectionEnabled"] for table in production.of_type("DynamoDB::Table").values())


def _rules(bucket: dict[str, dict[str, list[dict[str, object]]]]) -> list[dict[str, object]]:
    return bucket["LifecycleConfiguration"]["Rules"]
