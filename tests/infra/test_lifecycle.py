"""A stage can be destroyed and deployed again; in production what waits in it and what was promised for later outlives its stacks."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sedano.local.stage import stage_context
from sedano.local.synthesis import synthesise
from tests.infra import lifecycle as rules
from tests.infra.invariants import Rule, broken
from tests.infra.template import Templates, read, target
from tests.plugins.resources import APP, CODE

OUTSIDE_PRODUCTION: tuple[Rule, ...] = (rules.goes_with_its_stack, rules.can_stand_twice)
EVERYWHERE: tuple[Rule, ...] = (rules.keeps_nothing_back_that_has_a_name, rules.can_stand_twice)


@pytest.fixture(scope="module")
def development(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """The templates of a stage on AWS that is not production."""
    context = {**stage_context(APP, CODE), "local": "false", "stage": "dev"}
    return read(synthesise(context, tmp_path_factory.mktemp("dev") / "cdk.out"))


def _complaints(templates: Templates, rule: Rule) -> list[str]:
    return list(broken(templates, rule, tuple({one["Type"].removeprefix("AWS::") for one in templates.resources.values()})))


@pytest.mark.parametrize("rule", OUTSIDE_PRODUCTION, ids=lambda rule: rule.__name__)
def test_a_stage_that_was_destroyed_can_be_deployed_again(rule: Rule, development: Templates) -> None:
    assert _complaints(development, rule) == []


@pytest.mark.parametrize("rule", EVERYWHERE, ids=lambda rule: rule.__name__)
def test_nothing_that_production_keeps_is_in_the_way_of_the_next_deployment(rule: Rule, production: Templates) -> None:
    assert _complaints(production, rule) == []


def _first(resources: dict[str, Any], kind: str) -> tuple[str, dict[str, Any]]:
    return next((name, one) for name, one in resources.items() if one["Type"] == f"AWS::{kind}")


def _retain(kind: str, key: str) -> Callable[[dict[str, Any]], str]:
    def plant(resources: dict[str, Any]) -> str:
        name, resource = _first(resources, kind)
        resource[key] = "Retain"
        return name

    return plant


def _call(kind: str, key: str, called: str, **more: str) -> Callable[[dict[str, Any]], str]:
    def plant(resources: dict[str, Any]) -> str:
        name, resource = _first(resources, kind)
        resource["Properties"][key] = called
        resource.update(more)
        return name

    return plant


@pytest.mark.parametrize(
    ("rule", "plant"),
    [
        (rules.goes_with_its_stack, _retain("Glue::SecurityConfiguration", "DeletionPolicy")),
        (rules.goes_with_its_stack, _retain("SQS::Queue", "UpdateReplacePolicy")),
        (rules.can_stand_twice, _call("SQS::Queue", "QueueName", "mail")),
        (rules.can_stand_twice, _call("CloudWatch::Dashboard", "DashboardName", "sedano-dev")),
        (rules.keeps_nothing_back_that_has_a_name, _retain("Glue::SecurityConfiguration", "DeletionPolicy")),
        (rules.keeps_nothing_back_that_has_a_name, _call("S3::Bucket", "BucketName", "blobs", DeletionPolicy="Retain")),
        (rules.keeps_nothing_back_that_has_a_name, _call("SQS::Queue", "QueueName", "AWS::StackId", DeletionPolicy="Retain")),
    ],
)
def test_a_rule_names_the_resource_that_breaks_it(rule: Rule, plant: Callable[[dict[str, Any]], str], development: Templates) -> None:
    resources = copy.deepcopy(dict(development.resources))
    name = plant(resources)
    found = _complaints(Templates(development.directory, resources, development.outputs), rule)
    assert [complaint.split()[0] for complaint in found] == [name]


def test_in_production_what_runs_cannot_be_deleted_by_mistake(production: Templates, development: Templates) -> None:
    assert _protected(production.directory) == {"sedano-prod-state", "sedano-prod-core"}
    assert _protected(development.directory) == set()


def _protected(assembly: Path) -> set[str]:
    artifacts = json.loads((assembly / "manifest.json").read_text())["artifacts"].values()
    stacks = [one["properties"] for one in artifacts if one["type"] == "aws:cloudformation:stack"]
    return {one["stackName"] for one in stacks if one.get("terminationProtection")}


def test_parked_messages_and_timers_stand_with_what_is_remembered(production: Templates) -> None:
    (state,) = [json.loads(path.read_text()) for path in production.directory.glob("*state*.template.json")]
    kept = {name: one["Type"] for name, one in state["Resources"].items()}
    assert kept[target(state["Outputs"]["SedanoParkedQueue"]["Value"])] == "AWS::SQS::Queue"
    assert kept[target(state["Outputs"]["SedanoTimersGroup"]["Value"])] == "AWS::Scheduler::ScheduleGroup"


def test_in_production_no_queue_is_deleted_with_what_waits_in_it(production: Templates, development: Templates) -> None:
    def policies(templates: Templates) -> set[tuple[str, str]]:
        kinds = ("AWS::SQS::Queue", "AWS::Scheduler::ScheduleGroup")
        return {(one["DeletionPolicy"], one["UpdateReplacePolicy"]) for one in templates.resources.values() if one["Type"] in kinds}

    assert policies(production) == {("Retain", "Retain"), ("RetainExceptOnCreate", "Retain")}
    assert policies(development) == {("Delete", "Delete")}
