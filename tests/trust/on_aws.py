"""What a stage has on AWS alone, as far as roles go: the history job with its role, and CodeDeploy's role for the worker.

The endpoint runs neither Spark nor CodeDeploy, so a local stage has none of it. Here the same stage is synthesised for AWS, and the roles
are created on the endpoint with the policies of that template, on the resources that are deployed; what works under them is stood in for.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sedano.deploy import assembly
from sedano.local.endpoint import REGION
from sedano.local.stage import stage_context
from sedano.local.synthesis import synthesise
from tests.trust.driven import Driven
from tests.trust.grants import ON_AWS, listed

PIPELINE, RELEASE = "sedano-dev-pipeline", "sedano-dev-release"
KEPT = ("AWS::IAM::Role", "AWS::IAM::Policy", "AWS::Glue::Job", "AWS::Logs::LogGroup")
"""What of the pipeline is created: the endpoint refuses a stack that has a security configuration of Glue."""
STREAMS = (
    "clicks=arn:aws:kinesis:us-east-1:000000000000:stream/clicks,"
    "notes=arn:aws:sqs:us-east-1:000000000000:notes,"
    "orders=arn:aws:dynamodb:us-east-1:000000000000:table/orders/stream/2026-11-22T10:00:00.000"
)
"""What is there in place of the streams of the local stage."""
SECONDS_TO_CREATE = 60


class OnAws(NamedTuple):
    """The templates of a stage's stacks for AWS, by the stack's name, and the files of the pipeline."""

    templates: Mapping[str, dict[str, Any]]
    files: tuple[assembly.Asset, ...]


def synthesised(app: str, code: Path, directory: Path) -> OnAws:
    """The stage as AWS would get it in production, under the names of the local one."""
    context = {**stage_context(app, code), "local": "false", "production": "true", "pipeline_by_task": "true", "streams": STREAMS}
    stacks = assembly.stacks(synthesise(context, directory))
    (files,) = (stack.assets for stack in stacks if stack.name == PIPELINE)
    return OnAws({stack.name: json.loads(stack.template) for stack in stacks}, files)


def create(driven: Driven, on_aws: OnAws) -> None:
    """Create them on the stage, which from then on knows their roles."""
    for file in on_aws.files:
        bucket = file.bucket.replace("${AWS::AccountId}", driven.account).replace("${AWS::Region}", REGION)
        driven.client("s3").put_object(Bucket=bucket, Key=file.key, Body=file.body())
    _create(driven, PIPELINE, _pipeline(driven, on_aws.templates[PIPELINE]["Resources"]))
    _create(driven, RELEASE, _release(driven, on_aws.templates["sedano-dev-core"]["Resources"]))
    driven.find_roles()


def _pipeline(driven: Driven, resources: Mapping[str, Any]) -> dict[str, Any]:
    """The job, its role, and the worker's grants to start it."""
    kept = {name: resource for name, resource in resources.items() if resource["Type"] in KEPT}
    for resource in kept.values():
        said = resource["Properties"]
        said.pop("SecurityConfiguration", None)
        _for_any_account(said)
        if "Fn::GetStackOutput" in said.get("Roles", [{}])[0]:
            said["Roles"] = [driven.roles["worker"]]
    return kept


def _release(driven: Driven, resources: Mapping[str, Any]) -> dict[str, Any]:
    """CodeDeploy's role for the worker, whose grants are on a function of another stack here."""
    kept = {name: resource for name, resource in resources.items() if name.startswith("WorkerReleaseRole")}
    (worker,) = (name for name, resource in resources.items() if name.startswith("WorkerFunction") and "Role" in resource["Properties"])
    reference = json.dumps({"Fn::GetAtt": [worker, "Arn"]})
    function = driven.client("lambda").get_function_configuration(FunctionName=driven.functions["worker"])["FunctionArn"]
    found: dict[str, Any] = json.loads(json.dumps(kept).replace(reference, json.dumps(function)))
    for resource in found.values():
        _for_any_account(resource["Properties"])
        for said in resource["Properties"].get("PolicyDocument", {}).get("Statement", []):
            said["Action"] = [*(there for there, action in ON_AWS.items() if action in listed(said["Action"])), *listed(said["Action"])]
    return found


def _for_any_account(properties: dict[str, Any]) -> None:
    """Take from a role's trust policy what the endpoint says of no caller: for which account it acts."""
    for said in properties.get("AssumeRolePolicyDocument", {}).get("Statement", []):
        said.pop("Condition", None)


def _create(driven: Driven, stack: str, resources: Mapping[str, Any]) -> None:
    cloudformation = driven.client("cloudformation")
    template = json.dumps({"Resources": resources})
    cloudformation.create_stack(StackName=stack, TemplateBody=template, Capabilities=["CAPABILITY_NAMED_IAM"])
    pauses = {"Delay": 1, "MaxAttempts": SECONDS_TO_CREATE}
    cloudformation.get_waiter("stack_create_complete").wait(StackName=stack, WaiterConfig=pauses)
