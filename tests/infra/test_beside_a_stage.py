"""What stands beside a stage in a CDK app may use it by one call, can be destroyed with it, and is told how much it bears."""

import json
from pathlib import Path

import pytest

from infra.config import ConfigError, StageConfig
from sedano.local.stage import stage_context
from sedano.local.synthesis import synthesise
from tests.infra.template import Templates, listed, read, target
from tests.infra.test_sedano_stacks import composed, foreign, wheel
from tests.plugins.resources import APP, CODE

__all__ = ["composed", "foreign", "wheel"]


def _policy(templates: Templates) -> dict[str, set[str]]:
    """What the function beside the stage may do: actions, each with the kinds of what it may do it on."""
    (role,) = [target(one["Role"]) for name, one in templates.of_type("Lambda::Function").items() if name.startswith("Web")]
    said = [one for one in templates.of_type("IAM::Policy").values() if role in [target(each) for each in one["Roles"]]]
    allowed: dict[str, set[str]] = {}
    for statement in (each for policy in said for each in policy["PolicyDocument"]["Statement"]):
        for action in listed(statement["Action"]):
            allowed.setdefault(action, set()).update(json.dumps(resource) for resource in listed(statement["Resource"]))
    return allowed


def test_a_function_beside_a_stage_is_granted_what_a_client_calls(foreign: Templates) -> None:
    allowed = _policy(foreign)
    assert set(allowed) == {
        "sqs:SendMessage", "s3:PutObject", "s3:GetObject", "s3:ListBucket", "dynamodb:GetItem", "dynamodb:BatchGetItem",
        "dynamodb:UpdateItem", "scheduler:CreateSchedule", "iam:PassRole", "lambda:InvokeFunction", "ssm:GetParameter",
    }  # fmt: skip
    assert len(allowed["sqs:SendMessage"]) == 3, "two command queues and the event queue"
    (worker,) = allowed["lambda:InvokeFunction"]
    assert "Worker" in worker, "no other function can be called"
    assert not [arn for arns in allowed.values() for arn in arns if arn == '"*"']


def test_its_environment_is_the_variables_of_the_stage(foreign: Templates) -> None:
    functions = foreign.of_type("Lambda::Function")
    (web,) = [one["Environment"]["Variables"] for name, one in functions.items() if name.startswith("Web")]
    (worker,) = [one["Environment"]["Variables"] for name, one in functions.items() if name.startswith("Worker")]
    assert set(web) == {*worker, "SEDANO_WORKER"}
    assert web["SEDANO_APP"] == "shop.tasks:app"


def test_the_queues_of_its_environment_are_those_of_the_stage_and_not_of_its_own_stack(foreign: Templates) -> None:
    """The names have the id of the stage's stack: `AWS::StackId` is that of the stack in whose template it stands."""
    functions = foreign.of_type("Lambda::Function")
    (web,) = [one["Environment"]["Variables"] for name, one in functions.items() if name.startswith("Web")]
    assert "sedano-live-core" in json.dumps(web["SEDANO_QUEUES"])
    assert "AWS::StackId" not in json.dumps(web["SEDANO_QUEUES"])


def test_buckets_are_emptied_with_their_stack_where_that_is_asked_for(tmp_path: Path) -> None:
    context = {**stage_context(APP, CODE), "local": "false", "stage": "dev", "empty_buckets": "true", "pipeline": "none"}
    templates = read(synthesise(context, tmp_path / "cdk.out"))
    emptied = [one for one in templates.resources.values() if one["Type"] == "Custom::S3AutoDeleteObjects"]
    assert {target(one["Properties"]["BucketName"]) for one in emptied} == set(templates.of_type("S3::Bucket"))


def test_in_production_no_bucket_is_emptied() -> None:
    with pytest.raises(ConfigError, match=r"^empty_buckets: True cannot be used; expected production=False as well"):
        StageConfig(stage="prod", empty_buckets=True)


def test_a_stage_says_how_many_tasks_it_bears() -> None:
    said = StageConfig().capacity_sentence()
    assert said.startswith("its tables can take about 2000 claimed tasks a second (most_writes=4000), and a queue has at most 100 in")
    assert "about 50 claimed" in StageConfig(most_writes=100).capacity_sentence()


def test_the_address_of_a_worker_is_made_on_request_and_lets_in_what_iam_allows(tmp_path: Path) -> None:
    context = {**stage_context(APP, CODE), "local": "false", "stage": "dev", "pipeline": "none"}
    without = read(synthesise(context, tmp_path / "without"))
    made = read(synthesise({**context, "worker_url": "true"}, tmp_path / "with"))
    (url,) = [one for name, one in made.of_type("Lambda::Url").items() if name not in without.of_type("Lambda::Url")]
    assert url["AuthType"] == "AWS_IAM"
    assert "Worker" in json.dumps(url["TargetFunctionArn"])
    public = [one for one in made.of_type("Lambda::Permission").values() if one.get("Principal") == "*"]
    assert not [one for one in public if "Worker" in json.dumps(one["FunctionName"])], "AWS accepts only requests that IAM allows"
