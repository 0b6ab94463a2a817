"""A key of the stage's own: all that the stage keeps is encrypted with it, it is there for good, and no role needs a grant for it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from infra import cost, task_cost
from infra.config import ConfigError, StageConfig
from infra.prices import LIST
from sedano.local.stage import stage_context
from sedano.local.synthesis import synthesise
from tests.infra.template import Templates, read
from tests.plugins.resources import APP, CODE

KINDS = ("DynamoDB::Table", "S3::Bucket", "SQS::Queue")


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """Production with a key of its own; `test_accepted` has cdk-nag judge it."""
    context = {**stage_context(APP, CODE), "local": "false", "stage": "prod", "own_key": "true"}
    return read(synthesise(context, tmp_path_factory.mktemp("keyed") / "cdk.out"))


def encrypting(kind: str, resource: Mapping[str, Any]) -> object:
    """Return the key that is named as that of a resource; None: AWS's own."""
    if kind == "DynamoDB::Table":
        return resource.get("SSESpecification", {}).get("KMSMasterKeyId")
    if kind == "SQS::Queue":
        return resource.get("KmsMasterKeyId")
    (rule,) = resource["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    return rule["ServerSideEncryptionByDefault"].get("KMSMasterKeyID")


def encrypted(templates: Templates) -> Iterator[tuple[str, object]]:
    """Yield whatever keeps something, with the key that encrypts it."""
    for kind in KINDS:
        for name, resource in templates.of_type(kind).items():
            yield name, encrypting(kind, resource)


def test_all_that_is_kept_is_encrypted_with_the_one_key(keyed: Templates) -> None:
    (key,) = keyed.of_type("KMS::Key")
    found = dict(encrypted(keyed))
    assert len(found) >= 12
    assert {keyed.exported(used) for used in found.values()} == {key}


def test_the_history_job_says_the_same_key_as_its_bucket(keyed: Templates) -> None:
    (security,) = keyed.of_type("Glue::SecurityConfiguration").values()
    (said,) = security["EncryptionConfiguration"]["S3Encryptions"]
    (key,) = keyed.of_type("KMS::Key")
    assert (said["S3EncryptionMode"], keyed.exported(said["KmsKeyArn"])) == ("SSE-KMS", key)


def test_by_default_aws_keeps_the_keys_and_asks_nothing_for_it(production: Templates) -> None:
    assert production.of_type("KMS::Key") == {}
    assert {used for _, used in encrypted(production)} == {None}


def test_the_key_is_renewed_and_never_deleted_with_its_stack(keyed: Templates) -> None:
    (name,) = keyed.of_type("KMS::Key")
    resource = keyed.resources[name]
    assert resource["Properties"]["EnableKeyRotation"] is True
    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_it_is_used_through_what_keeps_something_with_it_and_by_the_account_alone(keyed: Templates) -> None:
    (key,) = keyed.of_type("KMS::Key").values()
    ours, anybody = key["KeyPolicy"]["Statement"]
    assert ours["Action"] == "kms:*"
    assert ":root" in json.dumps(ours["Principal"]), "the account decides by its policies who administers it"
    assert anybody["Principal"] == {"AWS": "*"}
    ((operator, condition),) = anybody["Condition"].items()
    assert operator == "StringEquals"
    assert condition["kms:CallerAccount"] == {"Ref": "AWS::AccountId"}
    parts = [one["Fn::Join"][1] for one in condition["kms:ViaService"]]
    services = ["".join(part if isinstance(part, str) else part["Ref"] for part in some) for some in parts]
    ends = ("amazonaws.com", "AWS::URLSuffix")
    assert services == [f"{service}.AWS::Region.{end}" for service in ("dynamodb", "s3", "sqs") for end in ends]
    assert not [action for action in anybody["Action"] if action in ("kms:*", "kms:PutKeyPolicy", "kms:ScheduleKeyDeletion")]


def test_no_role_has_a_grant_for_it(keyed: Templates, production: Templates) -> None:
    def policies(templates: Templates) -> dict[str, Any]:
        return {name: policy["PolicyDocument"] for name, policy in templates.of_type("IAM::Policy").items()}

    assert "kms:" not in json.dumps(policies(keyed))
    assert policies(keyed) == policies(production)


def test_nothing_else_is_another_one(keyed: Templates, production: Templates) -> None:
    def kinds(templates: Templates) -> dict[str, str]:
        # What the job says of encryption has a name of its own for each way.
        return {name: one["Type"] for name, one in templates.resources.items() if one["Type"] != "AWS::Glue::SecurityConfiguration"}

    assert kinds(production).items() < kinds(keyed).items()
    assert len(keyed.resources) == len(production.resources) + 1


def test_it_costs_what_a_key_costs(keyed: Templates, production: Templates) -> None:
    def idle(templates: Templates) -> float:
        return task_cost.total(cost.idle(cost.read(templates.directory)))

    assert idle(keyed) - idle(production) == pytest.approx(LIST.key)


def test_where_data_goes_with_its_stack_there_is_none() -> None:
    with pytest.raises(ConfigError, match=r"^own_key: True cannot be used; expected production=True as well: the key has to outlive"):
        StageConfig(stage="dev", own_key=True)
    assert StageConfig(stage="dev", own_key=True, production=True).own_key
