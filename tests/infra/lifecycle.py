"""What becomes of each resource when its stack is deleted, or a new version no longer has it: rules of the form of `invariants.py`."""

import json

from tests.infra.template import Templates

#: The id of the stack, which no other stack has, in a name.
OF_THE_STACK = "AWS::StackId"
#: Kinds whose name AWS asks for, or that AWS shows to people by their name, and what the name must hold beside the stage.
NAMED_BY_US = {
    "Glue::SecurityConfiguration": "", "CloudWatch::Dashboard": "AWS::Region", "Logs::LogGroup": "/history/", "SQS::Queue": OF_THE_STACK,
}  # fmt: skip
#: The property that is a resource's own name in its account and Region; IAM's inline policies have one within their role.
NAMES = {
    "CloudWatch::Dashboard": "DashboardName", "CloudWatch::Alarm": "AlarmName", "CodeDeploy::Application": "ApplicationName",
    "DynamoDB::Table": "TableName", "Events::Rule": "Name", "Glue::Job": "Name", "Glue::SecurityConfiguration": "Name",
    "Glue::Trigger": "Name", "IAM::Role": "RoleName", "KMS::Alias": "AliasName", "Lambda::Function": "FunctionName",
    "Lambda::LayerVersion": "LayerName", "Logs::LogGroup": "LogGroupName", "S3::Bucket": "BucketName", "SQS::Queue": "QueueName",
    "Scheduler::Schedule": "Name", "Scheduler::ScheduleGroup": "Name",
}  # fmt: skip


def goes_with_its_stack(templates: Templates, name: str) -> str | None:
    """Outside production nothing is retained: the stage can be destroyed, and deployed again under the same names."""
    resource = templates.resources[name]
    kept = [key for key in ("DeletionPolicy", "UpdateReplacePolicy") if resource.get(key, "Delete") != "Delete"]
    return f"is kept by its {' and '.join(kept)}" if kept else None


def can_stand_twice(templates: Templates, name: str) -> str | None:
    """A resource has no name of its own, which another one could have already; where it needs one, the name holds what tells two apart."""
    resource = templates.resources[name]
    kind = resource["Type"].removeprefix("AWS::")
    called = resource.get("Properties", {}).get(NAMES.get(kind, ""))
    if called is None or (kind in NAMED_BY_US and NAMED_BY_US[kind] in json.dumps(called)):
        return None
    return f"is called {called}"


def keeps_nothing_back_that_has_a_name(templates: Templates, name: str) -> str | None:
    """In production too: what is retained under a name of its own is in the way of the next deployment.

    A name that holds the stack's id is in the way of the same stack alone: there a resource must not stay when its creation is rolled back.
    """
    if goes_with_its_stack(templates, name) is None:
        return None
    resource = templates.resources[name]
    called = resource.get("Properties", {}).get(NAMES.get(resource["Type"].removeprefix("AWS::"), ""))
    if OF_THE_STACK in json.dumps(called) and resource.get("DeletionPolicy") == "RetainExceptOnCreate":
        return None
    return None if called is None else f"is kept under the name {called}"
