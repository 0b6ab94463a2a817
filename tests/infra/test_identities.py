"""What a stage keeps keeps its name in the template: another logical id is another resource, and CloudFormation deletes the first."""

import json

from tests.infra.template import Templates

#: Logical ids of everything that holds data. One that changes here loses what is in it: move it with `cdk refactor` instead.
STATEFUL = {
    "AWS::DynamoDB::Table": {"LedgerTable9343E4AA", "ControlTable70B6FEE0"},
    "AWS::S3::Bucket": {"BlobsBucket1038ED5D", "HistoryBucket6286F777"},
    "AWS::SQS::Queue": {
        "CommandsdefaultQueue1B8B80A4",
        "CommandsdefaultDead1E964081",
        "CommandsbulkQueue112E6DD6",
        "CommandsbulkDeadD0DFEEF6",
        "CommandsordersfifoQueue2F71A8FC",
        "CommandsordersfifoDead8284B6DB",
        "EventsQueue7396B467",
        "EventsDead8436A46E",
        "RecordsQueueECA2EBBC",
        "RecordsDeadD260A05E",
        "ParkedQueueD4C1776A",
    },
    "AWS::Scheduler::ScheduleGroup": {"TimersGroup"},
}


def test_what_holds_data_is_never_replaced(templates: Templates) -> None:
    found: dict[str, set[str]] = {}
    for name, resource in templates.resources.items():
        if resource["Type"] in STATEFUL:
            found.setdefault(resource["Type"], set()).add(name)
    assert found == STATEFUL


def test_no_two_stacks_call_different_things_the_same(templates: Templates) -> None:
    names = [name for stack in templates.directory.glob("*.template.json") for name in _resources(stack.read_text())]
    assert len(names) == len(set(names)), "the tests of this room find a resource by its logical id alone"


def _resources(template: str) -> list[str]:
    return list(json.loads(template)["Resources"])
