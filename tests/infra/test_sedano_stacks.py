"""A CDK app of somebody else installs the constructs, composes a stage with every option, and keeps what is its own."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from requirements import toolchain
from sedano.deploy import assembly
from sedano.local.synthesis import ROOT
from tests.infra.template import Templates, of_a_stream, read, target

FOREIGN = Path(__file__).resolve().parent / "foreign"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed package: the wheel as `pip` builds it, unpacked."""
    directory = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    (built,) = directory.glob("*.whl")
    zipfile.ZipFile(built).extractall(directory / "installed")
    return directory / "installed"


@pytest.fixture(scope="session")
def composed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The assembly of the foreign app, run in a directory of its own, and what it printed."""
    directory = tmp_path_factory.mktemp("foreign")
    context = {"@aws-cdk/core:newStyleStackSynthesis": True}
    environment = {
        **os.environ,
        **toolchain.environment(os.environ),
        "HOME": str(directory),
        "PYTHONPATH": str(wheel),
        "CDK_OUTDIR": str(directory / "cdk.out"),
        "CDK_CONTEXT_JSON": json.dumps(context),
        "CDK_VALIDATION": "false",
    }
    command = [sys.executable, "-P", str(FOREIGN / "app.py"), str(FOREIGN / "shop")]
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return directory / "cdk.out", done.stdout


@pytest.fixture(scope="session")
def foreign(composed: tuple[Path, str]) -> Templates:
    """The templates of the foreign app, its own stack among them."""
    return read(composed[0])


def test_what_is_installed_stands_alone(wheel: Path, composed: tuple[Path, str]) -> None:
    assert {path.name for path in wheel.iterdir()} == {"sedano", "sedano-0.1.0.dist-info"}
    assert composed[1].split() == ["shop.tasks.confirm", "shop.tasks.follow", "shop.tasks.total"], (
        "its tasks, and no module of this repository's folder"
    )


def test_the_stacks_are_called_as_they_are_everywhere(composed: tuple[Path, str]) -> None:
    names = {stack.name for stack in assembly.stacks(composed[0])}
    assert names == {"Theirs", "Site", *(f"sedano-live-{part}" for part in ("state", "core", "observability", "pipeline"))}


def test_a_package_that_is_named_itself_is_deployed_under_its_name(foreign: Templates) -> None:
    layers = foreign.of_type("Lambda::LayerVersion")
    (application,) = [layer for name, layer in layers.items() if name.startswith("Application")]
    directory = foreign.directory / f"asset.{application['Content']['S3Key'].removesuffix('.zip')}"
    found = {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}
    assert {name for name in found if not name.endswith(".pyc")} == {"python/shop/__init__.py", "python/shop/tasks.py"}


def test_where_nothing_comes_round_nothing_looks_by_the_minute_and_nothing_is_paid_for_it(foreign: Templates) -> None:
    assert "scheduler" not in foreign.functions()
    assert foreign.of_type("Scheduler::Schedule") == {}
    assert foreign.outputs["SedanoScheduler"] == "off"


def test_each_setting_reaches_every_resource_that_it_is_about(foreign: Templates) -> None:
    functions = [function for name, function in foreign.functions().items() if not name.startswith("web")]
    assert {function["MemorySize"] for function in functions} == {1024}
    assert {function["CodeSigningConfigArn"].split(":")[-1] for function in functions} == {"csc-0123456789abcdefg"}
    roles = [role for name, role in foreign.of_type("IAM::Role").items() if not name.startswith("Web")]
    assert {role["PermissionsBoundary"].split("/")[-1] for role in roles} == {"developers"}
    (topic,) = (name for name, resource in foreign.resources.items() if resource["Type"] == "AWS::SNS::Topic")
    assert {foreign.exported(alarm["AlarmActions"][0]) for alarm in foreign.of_type("CloudWatch::Alarm").values()} == {topic}
    assert {table["OnDemandThroughput"]["MaxWriteRequestUnits"] for table in foreign.of_type("DynamoDB::Table").values()} == {100}
    (budget,) = foreign.of_type("Budgets::Budget").values()
    assert budget["Budget"]["BudgetLimit"] == {"Amount": 25, "Unit": "USD"}
    assert budget["Budget"]["CostFilters"] == {"TagKeyValue": ["user:sedano:stage$live"]}
    assert {foreign.exported(told["Subscribers"][0]["Address"]) for told in budget["NotificationsWithSubscribers"]} == {topic}


def test_the_queues_are_those_that_the_code_declares_each_with_its_concurrency(foreign: Templates) -> None:
    mappings = foreign.of_type("Lambda::EventSourceMapping").values()
    limits = [(one["EventSourceArn"], one["ScalingConfig"]["MaximumConcurrency"]) for one in mappings if not of_a_stream(one)]
    found = {target(queue).split("Queue")[0]: limit for queue, limit in limits}
    assert found == {"Commandsdefault": 10, "Commandsmail": 2, "Events": 10, "Records": 10}


def test_streams_and_a_key_of_another_stack_are_followed_as_the_cdk_fills_them_in(foreign: Templates) -> None:
    def kind(name: str) -> str:
        return str(foreign.resources[target(foreign.outputs[name])]["Type"])

    followed = {foreign.exported(stream): function for stream, function in foreign.followers()}
    assert {name[:6] for name in followed} == {"Orders", "Clicks"}
    assert set(followed.values()) == {"stream"}
    reads = [statement for statement in foreign.allowed("stream") if statement.actions[0].startswith(("dynamodb:", "kinesis:", "kms:"))]
    assert [(one.actions[0].split(":")[0], *map(kind, one.resources)) for one in reads] == [
        ("dynamodb", "AWS::DynamoDB::GlobalTable"),
        ("kms", "AWS::KMS::Key"),
        ("kinesis", "AWS::Kinesis::Stream"),
    ]


def test_tags_are_on_what_is_sedanos_and_on_nothing_else(foreign: Templates) -> None:
    properties = {name: resource.get("Properties", {}) for name, resource in foreign.resources.items()}
    tagged = {name: _tags(found) for name, found in properties.items() if "Tags" in found}
    assert tagged
    for name, tags in tagged.items():
        assert tags.items() >= {"team": "shop", "sedano:stage": "live"}.items(), name
    (theirs,) = [resource for resource in foreign.resources.values() if resource["Type"] == "AWS::SNS::Topic"]
    assert "Tags" not in theirs.get("Properties", {})


def test_the_templates_are_those_of_our_own_app_whatever_the_flags_of_theirs(foreign: Templates) -> None:
    """Its context holds none of the flags of cdk.json; the ones that matter are set with the construct."""
    ours = [resource for name, resource in foreign.resources.items() if not name.startswith("Web")]  # their stack keeps to their flags
    imports = [value for resource in ours for value in _intrinsics(resource)]
    assert "Fn::GetStackOutput" in imports
    assert "Fn::ImportValue" not in imports


def _tags(properties: Mapping[str, Any]) -> dict[str, str]:
    tags = properties["Tags"]
    return dict(tags) if isinstance(tags, dict) else {tag["Key"]: tag["Value"] for tag in tags}


def _intrinsics(value: object) -> list[str]:
    if isinstance(value, dict):
        return [name for name in value if name.startswith("Fn::")] + [found for inner in value.values() for found in _intrinsics(inner)]
    return [found for inner in value for found in _intrinsics(inner)] if isinstance(value, list) else []


def test_a_stage_tells_its_functions_and_its_programs_the_ceiling_of_a_budget(foreign: Templates) -> None:
    for name, function in foreign.functions().items():
        if name in ("worker", "router"):
            assert function["Environment"]["Variables"]["SEDANO_MOST_BUDGET"] == "50000", name
    assert foreign.outputs["SedanoMostBudget"] == "50000"


def test_every_function_uses_the_client_that_the_stage_chose_else_the_slim_one(foreign: Templates, production: Templates) -> None:
    for stage, chosen in ((foreign, "botocore"), (production, "slim")):
        for name in ("worker", "router", "recorder"):
            assert stage.functions()[name]["Environment"]["Variables"]["SEDANO_AWS_CLIENT"] == chosen, name


def test_the_worker_alone_may_write_statements_and_into_the_ledger_alone(foreign: Templates) -> None:
    policies = foreign.of_type("IAM::Policy").items()
    found = [(name, one) for name, policy in policies for one in policy["PolicyDocument"]["Statement"] if "PartiQL" in str(one["Action"])]
    ((name, statement),) = found
    assert name.startswith("Worker")
    assert statement["Action"] == ["dynamodb:PartiQLInsert", "dynamodb:PartiQLUpdate"]
    assert "Ledger" in str(statement["Resource"])
    assert "Control" not in str(statement["Resource"])
    assert foreign.functions()["worker"]["Environment"]["Variables"]["SEDANO_GROUP_COMMIT"] == "on"


def test_every_function_is_told_what_brings_the_ports_of_the_app(foreign: Templates) -> None:
    functions = foreign.functions()
    for name in ("worker", "router", "recorder", "stream"):
        assert functions[name]["Environment"]["Variables"]["SEDANO_CONNECT"] == "sedano.memory:ports", name
