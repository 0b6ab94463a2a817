"""A plan changes nothing, a deployment does what its plan showed, and a refused one leaves nothing behind."""

import json
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from sedano.deploy.account import Target
from sedano.deploy.assembly import BOOTSTRAPPED, stacks
from sedano.deploy.changes import ResourceChange
from sedano.deploy.clients import Clients
from sedano.deploy.deployment import Deployment, Planned, is_prepared
from sedano.deploy.failure import DeployError
from sedano.deploy.removal import planned, remove
from tests.unit.deploy.assemblies import template, write

WHERE = Target("123456789012", "eu-central-1")
TOPIC = "AWS::SNS::Topic"


class Account:
    """An account that is prepared for deployments, and the lines that a deployment said."""

    def __init__(self, folder: Path) -> None:
        session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=WHERE.region)
        self.said: list[str] = []
        self.numbers = count()
        self.folder, self.clients = folder, Clients(session, WHERE, self.said.append)
        self.cloudformation: Any = session.client("cloudformation")
        self.s3: Any = session.client("s3")
        place = {"LocationConstraint": WHERE.region}
        self.s3.create_bucket(Bucket=f"cdk-hnb659fds-assets-{WHERE.account}-{WHERE.region}", CreateBucketConfiguration=place)
        session.client("ssm").put_parameter(Name=BOOTSTRAPPED, Value="33", Type="String")

    def deployment(self, keep: tuple[str, ...], run: tuple[str, ...]) -> Deployment:
        """The deployment of a stage whose two stacks have these topics."""
        made = {"sedano-dev-state": template(*keep), "sedano-dev-core": template(*run)}
        folder = write(self.folder / f"{len(keep)}{len(run)}", made, {"sedano-dev-core": ["sedano-dev-state"]})
        named = partial(next, self.numbers)
        return Deployment(self.clients, stacks(folder), self.said.append, name=lambda: f"c{named()}", sleep=lambda _: None)

    def stacks(self) -> dict[str, str]:
        """Every stack that exists with its state."""
        return {one["StackName"]: one["StackStatus"] for one in self.cloudformation.describe_stacks()["Stacks"]}

    def change_sets(self) -> list[str]:
        """The change sets of all stacks."""
        every = [one for name in self.stacks() for one in self.cloudformation.list_change_sets(StackName=name)["Summaries"]]
        return sorted({one["ChangeSetName"] for one in every})


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    with mock_aws():
        yield Account(tmp_path)


def _changes(plan: list[Planned]) -> list[tuple[ResourceChange, ...]]:
    return [one.found.changes for one in plan]


def test_a_plan_of_a_new_stage_makes_no_stack(account: Account) -> None:
    plan = account.deployment(("a",), ("b", "c")).plan()
    assert _changes(plan) == [(ResourceChange("add", TOPIC, "a"),), (ResourceChange("add", TOPIC, "b"), ResourceChange("add", TOPIC, "c"))]
    assert all(one.found.new for one in plan)
    assert account.stacks() == {}


def test_a_stage_is_created_in_order(account: Account) -> None:
    deployment = account.deployment(("a",), ("b",))
    deployment.apply(deployment.plan())
    assert account.stacks() == {"sedano-dev-state": "CREATE_COMPLETE", "sedano-dev-core": "CREATE_COMPLETE"}
    assert [line.split()[0] for line in account.said if "CREATE_COMPLETE" in line] == ["sedano-dev-state", "sedano-dev-core"]


def test_a_plan_that_is_forgotten_leaves_the_stage_as_it_was(account: Account) -> None:
    first = account.deployment(("a",), ("b",))
    first.apply(first.plan())
    before, executed = account.stacks(), account.change_sets()
    second = account.deployment(("a",), ("b", "c"))
    plan = second.plan()
    assert account.change_sets() > executed
    assert ResourceChange("add", TOPIC, "c") in plan[1].found.changes
    second.forget(plan)
    assert account.change_sets() == executed
    assert account.stacks() == before


def test_the_change_set_that_was_shown_is_the_one_that_is_executed(account: Account) -> None:
    first = account.deployment(("a",), ("b",))
    first.apply(first.plan())
    second = account.deployment(("a",), ("b", "c"))
    plan = [one for one in second.plan() if one.stack.name == "sedano-dev-core"]
    second.apply(plan)
    assert account.stacks()["sedano-dev-core"] == "UPDATE_COMPLETE"
    done = account.cloudformation.describe_change_set(StackName="sedano-dev-core", ChangeSetName=plan[0].change_set)
    assert done["ExecutionStatus"] == "EXECUTE_COMPLETE"


def test_a_file_that_is_there_is_not_sent_again(account: Account) -> None:
    first = account.deployment(("a",), ("b",))
    first.apply(first.plan())
    sent = [line for line in account.said if "files sent" in line]
    again = account.deployment(("a",), ("b",))
    again.forget(again.plan())
    assert [line for line in account.said if "files sent" in line] == sent


def test_an_account_that_is_not_prepared_or_too_old_is_refused_with_the_command(account: Account) -> None:
    ssm = account.clients.client("ssm")
    ssm.put_parameter(Name=BOOTSTRAPPED, Value="5", Type="String", Overwrite=True)
    with pytest.raises(DeployError, match=r"has version 5, and 6 is needed: run `sedano bootstrap`"):
        account.deployment(("a",), ("b",)).plan()
    assert is_prepared(account.clients)
    ssm.delete_parameter(Name=BOOTSTRAPPED)
    assert not is_prepared(account.clients)
    with pytest.raises(DeployError, match=r"is not prepared for deployments: run `sedano bootstrap` once"):
        account.deployment(("a",), ("b",)).plan()


def test_a_stage_is_deleted_from_its_last_stack_on(account: Account) -> None:
    deployment = account.deployment(("a",), ("b",))
    deployment.apply(deployment.plan())
    removal = planned(account.clients, "dev")
    assert removal.stacks == ("sedano-dev-core", "sedano-dev-state")
    remove(account.clients, removal, account.said.append, sleep=lambda _: None)
    assert account.stacks() == {}


def test_a_stage_without_stacks_is_not_deleted(account: Account) -> None:
    with pytest.raises(DeployError, match="the stage prod is not deployed in account 123456789012 in eu-central-1: give --stage"):
        planned(account.clients, "prod")


def test_a_protected_stack_keeps_the_whole_stage(account: Account) -> None:
    body = json.dumps(template("a"))
    account.cloudformation.create_stack(StackName="sedano-dev-state", TemplateBody=body)
    account.cloudformation.create_stack(StackName="sedano-dev-core", TemplateBody=body, EnableTerminationProtection=True)
    with pytest.raises(DeployError, match=r"^sedano-dev-core is protected from deletion; .* --no-enable-termination-protection"):
        planned(account.clients, "dev")


def test_a_bucket_is_emptied_unless_its_template_keeps_it(account: Account) -> None:
    body = template()
    body["Resources"] = {
        "Blobs": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "blobs"}},
        "History": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "history"}, "DeletionPolicy": "Retain"},
    }
    write(account.folder, {"sedano-dev-state": body})
    deployment = Deployment(account.clients, stacks(account.folder), account.said.append, sleep=lambda _: None)
    deployment.apply(deployment.plan())
    for bucket in ("blobs", "history"):
        account.s3.put_object(Bucket=bucket, Key="one", Body=b"1")
    removal = planned(account.clients, "dev")
    assert removal.buckets == ("blobs",)
    assert removal.kept == ("AWS::S3::Bucket history",)
    remove(account.clients, removal, account.said.append, sleep=lambda _: None)
    assert account.s3.list_objects_v2(Bucket="history")["KeyCount"] == 1
    assert "blobs  1 objects deleted" in account.said
