"""`sedano doctor`: this machine and the stage, each line with its remedy, and the exit code."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import boto3
import pytest
from moto import mock_aws

from sedano import __version__, testing
from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.cli.stage_findings import fits, machine, reach
from sedano.deploy import checkup
from sedano.deploy.account import Target
from sedano.errors import NotAllowed
from sedano.ports import PARKED, Outgoing
from sedano.views.findings import FAULT, OK, WARNING
from tests.stories import bakery
from tests.stories.terminals import items

APP = ("--app", "tests.stories.bakery:app")
WHERE = Target("123456789012", "eu-central-1")
ACCOUNT = {
    "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": WHERE.region, "AWS_DEFAULT_REGION": WHERE.region,
    "SEDANO_SPOOL": "off",
}  # fmt: skip
EMPTY = b"PK\x05\x06" + b"\0" * 18
"""An archive without files."""


def template(outputs: dict[str, Any], **resources: Any) -> str:
    """The text of a template."""
    return json.dumps({"Resources": resources, "Outputs": {name: {"Value": value} for name, value in outputs.items()}})


def table(*keys: str) -> dict[str, Any]:
    """A table of DynamoDB."""
    return {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {
            "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": [{"AttributeName": key, "AttributeType": "S"} for key in keys],
            "KeySchema": [{"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, ("HASH", "RANGE"), strict=False)],
        },
    }  # fmt: skip


QUEUE, BUCKET, REF = {"Type": "AWS::SQS::Queue"}, {"Type": "AWS::S3::Bucket"}, "Ref"
STATE = template(
    {"SedanoLedgerTable": {REF: "L"}, "SedanoControlTable": {REF: "C"}, "SedanoBlobsBucket": {REF: "B"}, "SedanoHistoryBucket": {REF: "H"}},
    L=table("pk"), C=table("pk"), B=BUCKET, H=BUCKET,
)  # fmt: skip
OUTPUTS = {
    "SedanoQueues": {"Fn::Join": ["", ['{"default": "', {REF: "D"}, '"}']]}, "SedanoEventsQueue": {REF: "E"},
    "SedanoRecordsQueue": {REF: "R"}, "SedanoParkedQueue": {REF: "P"}, "SedanoStage": "dev",
}  # fmt: skip


@contextmanager
def variables(given: Mapping[str, str]) -> Iterator[None]:
    """The environment with *given*, and afterwards as it was."""
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@pytest.fixture
def account() -> Iterator[boto3.Session]:
    """An empty account on moto, whose credentials are in the environment."""
    with variables(ACCOUNT), mock_aws():
        yield boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=WHERE.region)


@pytest.fixture
def no_spool() -> Iterator[None]:
    """A machine whose spool is off: messages that wait on the machine of the test would be a warning."""
    with variables({"SEDANO_SPOOL": "off"}):
        yield


def deployed(session: boto3.Session, version: str) -> None:
    """Deploy the stage dev, whose library has that *version*."""
    functions, cloudformation = session.client("lambda"), session.client("cloudformation")
    trust = {"Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]}
    role = session.client("iam").create_role(RoleName="worker", AssumeRolePolicyDocument=json.dumps(trust))["Role"]["Arn"]
    layer = functions.publish_layer_version(LayerName="Library1A2B3C4D", Description=f"sedano {version}", Content={"ZipFile": EMPTY})
    code = {"Runtime": "python3.13", "Handler": "a.b", "Code": {"ZipFile": "x"}}
    worker = {"Type": "AWS::Lambda::Function", "Properties": {**code, "Role": role, "FunctionName": "worker"}}
    cloudformation.create_stack(StackName="sedano-dev-state", TemplateBody=STATE)
    core = template(OUTPUTS, D=QUEUE, E=QUEUE, R=QUEUE, P=QUEUE, Worker=worker)
    cloudformation.create_stack(StackName="sedano-dev-core", TemplateBody=core)
    functions.update_function_configuration(FunctionName="worker", Layers=[layer["LayerVersionArn"]])


def findings(capsys: pytest.CaptureFixture[str], *arguments: str, code: int) -> dict[str, dict[str, str]]:
    """The findings of `sedano doctor --json`, by what was checked."""
    capsys.readouterr()
    status = main(["doctor", *APP, "--json", *arguments])
    said = capsys.readouterr()
    assert status == code, (said.err, [line for line in said.out.splitlines() if '"ok"' not in line])
    return {one["checked"]: one for one in items(said.out)}


def test_a_stage_that_works_has_no_fault(account: boto3.Session, capsys: pytest.CaptureFixture[str]) -> None:
    deployed(account, __version__)
    found = findings(capsys, code=Exit.DONE)
    assert {one["grade"] for one in found.values()} <= {OK}, [one for one in found.values() if one["grade"] != OK]
    assert {"python", "sedano", "package boto3", "setting region", "app", "credentials", "clock", "stack sedano-dev-core", "variables",
            "library", "queue default", "ledger", "control table", "history"} <= found.keys()  # fmt: skip
    assert found["library"]["found"] == f"the stage runs sedano {__version__}, as this machine does"
    assert found["setting region"]["found"] == f"{WHERE.region}, from variable AWS_REGION"
    assert found["stack sedano-dev-pipeline"]["found"] == "is not deployed, and tasks run without it"
    assert "SEDANO_LEDGER_TABLE" not in os.environ


def test_another_version_and_other_variables_are_warnings(account: boto3.Session, capsys: pytest.CaptureFixture[str]) -> None:
    deployed(account, "9.9.9")
    os.environ["SEDANO_EVENTS_QUEUE"] = "https://elsewhere"
    try:
        found = findings(capsys, "--strict", code=Exit.PROBLEMS)
    finally:
        del os.environ["SEDANO_EVENTS_QUEUE"]
    assert (found["library"]["grade"], f"9.9.9 and this machine has {__version__}" in found["library"]["found"]) == (WARNING, True)
    assert found["variables"]["found"] == "SEDANO_EVENTS_QUEUE of this shell differ from the stage's"


def test_a_stage_that_is_not_deployed_is_a_fault_with_its_remedy(account: boto3.Session, capsys: pytest.CaptureFixture[str]) -> None:
    found = findings(capsys, "--stage", "prod", code=Exit.PROBLEMS)
    missing = found["stack sedano-prod-core"]
    assert missing["found"] == "is not deployed in account 123456789012 in eu-central-1"
    assert missing["do"].startswith("run `sedano deploy --stage prod`")
    assert "queue default" not in found


def test_an_account_that_is_not_the_stages_ends_the_rest(account: boto3.Session, capsys: pytest.CaptureFixture[str]) -> None:
    del os.environ["AWS_REGION"], os.environ["AWS_DEFAULT_REGION"]
    found = findings(capsys, code=Exit.PROBLEMS)
    assert (found["credentials"]["grade"], "no Region: set AWS_REGION" in found["credentials"]["found"]) == (FAULT, True)
    assert "`sedano doctor --local` checks this machine alone" in found["credentials"]["do"]
    assert "stack sedano-dev-core" not in found


@pytest.mark.usefixtures("no_spool")
def test_this_machine_alone_is_checked_without_aws(capsys: pytest.CaptureFixture[str]) -> None:
    assert "credentials" not in findings(capsys, "--local", code=Exit.DONE)
    assert main(["doctor", "--local", "--app", "tests.stories.nowhere:app"]) == Exit.PROBLEMS
    out, err = capsys.readouterr()
    assert "fault    app: app: " in out
    assert err.endswith(" 0 warnings, 1 fault\n")


class Sts:
    """STS whose answers have the date *date*."""

    def __init__(self, date: str | None) -> None:
        """Answer with that date."""
        self.date = date

    def get_caller_identity(self) -> dict[str, Any]:
        """Answer."""
        return {"ResponseMetadata": {"HTTPHeaders": {"date": self.date} if self.date else {}}}


@pytest.mark.parametrize(("offset", "grade"), [(0.5, OK), (-1.5, OK), (30.0, WARNING), (-30.0, WARNING), (900.0, FAULT), (-900.0, FAULT)])
def test_the_clock_is_compared_with_that_of_aws(offset: float, grade: str) -> None:
    found = checkup.clock(Sts("Thu, 01 Jan 2026 00:00:00 GMT"), lambda: 1_767_225_600.0 + offset)
    assert found.grade == grade
    assert grade == OK or ("ahead of" if offset > 0 else "behind") in found.found


def test_an_answer_without_a_date_is_said() -> None:
    assert checkup.clock(Sts(None), lambda: 0.0).grade == WARNING


class Denied:
    """A ledger that the role may not read."""

    def read(self, *arguments: object) -> object:
        """Refuse as IAM does."""
        raise NotAllowed("dynamodb.BatchGetItem: AccessDeniedException", "dynamodb:BatchGetItem")


def test_a_table_that_may_not_be_read_names_the_permission_and_parked_messages_are_a_warning() -> None:
    with testing.world(bakery.app) as world:
        assert {one.grade for one in reach(world.ports, ("default",))} == {OK}
        world.queues.send(PARKED, [Outgoing("{}")])
        denied: Any = Denied()
        ports = replace(world.ports, ledger=denied)
        found = {one.checked: one for one in reach(ports, ("default",))}
    assert (found["ledger"].grade, found["ledger"].do) == (FAULT, "ask for the permission dynamodb:BatchGetItem")
    assert (found["queue of parked messages"].grade, found["queue of parked messages"].found) == (WARNING, "1 wait, 0 run")


def test_versions_are_compared_with_the_bounds_of_the_distribution() -> None:
    assert [fits("3.9.1", ">=3.37,<4"), fits("3.37.0", ">=3.37,<4"), fits("4.0", ">=3.37,<4"), fits("1", "")] == [False, True, False, True]
    assert all(one.grade != FAULT for one in machine())
