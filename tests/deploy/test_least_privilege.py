"""With IAM enforced, each role suffices for every road of a message, and nothing works without it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from sedano.aws.settings import command_addresses
from sedano.local import LocalStage, local_stage
from sedano.local.synthesis import ROOT
from tests.plugins.resources import CODE
from tests.strict_aws.child import Strict

CLIENT = """
from sedano.model.messages.lineage import derived_id
from sedano import workflow
from walks import Measured, Walk, alone, app, echo, length, sums
large = "x" * 100_000
assert echo.delay("small").get(timeout=60) == "small"
assert echo.delay(large).get(timeout=60) == large
assert sums(range(4)) == 12
assert app.invoke(echo, "now") == "now"
assert app.invoke(echo.s(large).set(task_id="direct"), timeout=50) == app.result("direct").get(timeout=0) == large
runs = [alone.delay(3) for _ in range(3)]
assert [run.get(timeout=60) for run in runs] == [[1, 1, 1, 3]] * 3
assert echo.s("elected").election(timeout=2).get(timeout=60) == "elected"
assert app.control.election("led", "lead", "go", timeout=2).get(timeout=60) == "go"
app.control.revoke("revoked")
assert app.result("revoked").state == "REVOKED"
assert app.control.election("asked", "elect", "again", timeout=2).get(timeout=60)
assert Walk.delay(text="a bc").get(timeout=60) == {"failed": None}
run = Walk.delay(text=large)
assert run.wait(timeout=60).state == "FAILED"
assert run.show().steps[0].state == "COMPENSATED"
assert run.retry() == "RUNNING" and run.wait(timeout=60).state == "FAILED"
assert [run.state for run in workflow.runs(app)] == ["FAILED", "SUCCEEDED"]
assert app.control.members()[0].state == "ACTIVE"
for text in ("small", large):
    event = Measured.delay(text=text)
    assert app.result(derived_id(event, length.name)).get(timeout=60) == len(text)
app.close()
"""
COMMAND = {"Records": [{"messageId": "m1", "receiptHandle": "r1", "body": "", "attributes": {}}]}


@pytest.fixture(scope="module")
def enforced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStage]:
    """A stage whose functions may do what their roles allow and nothing else."""
    directory = tmp_path_factory.mktemp("enforced")
    with local_stage(app="walks:app", code=CODE, directory=directory, enforce_iam=True) as stage:
        yield stage


def _client(stage: LocalStage, service: str) -> Any:
    return stage.endpoint.session().client(service, endpoint_url=stage.endpoint.url)


def _parked_reasons(stage: LocalStage, expected: int) -> list[str]:
    sqs, url, reasons = _client(stage, "sqs"), stage.environment["SEDANO_PARKED_QUEUE"], []
    while len(reasons) < expected:
        answer = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20, MessageAttributeNames=["All"])
        assert answer.get("Messages"), f"{len(reasons)} of {expected} parked\n{stage.endpoint.last_lines()}"
        reasons += [message["MessageAttributes"]["queue"]["StringValue"] for message in answer["Messages"]]
    return reasons


def test_every_road_of_a_message_is_open_to_the_function_that_takes_it(enforced: LocalStage, strict_child: Strict) -> None:
    path = os.pathsep.join([str(ROOT / "layers" / "sedano" / "python"), str(CODE)])
    environment = strict_child({**os.environ, **enforced.environment, "PYTHONPATH": path})
    done = subprocess.run([sys.executable, "-c", CLIENT], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}\n{enforced.endpoint.last_lines()}"


def test_what_no_function_can_read_is_parked_by_each_of_them(enforced: LocalStage) -> None:
    sqs = _client(enforced, "sqs")
    commands = command_addresses(enforced.environment)["default"]
    for url in (commands, enforced.environment["SEDANO_EVENTS_QUEUE"], enforced.environment["SEDANO_RECORDS_QUEUE"]):
        sqs.send_message(QueueUrl=url, MessageBody="{")
    assert sorted(_parked_reasons(enforced, 3)) == ["commands:default", "events", "records"]


def test_nothing_was_denied_on_the_way(enforced: LocalStage) -> None:
    assert "AccessDenied" not in enforced.endpoint.log.read_text()


CALLER = """
from sedano.errors import MessageRefused, SedanoError
from walks import app, echo
assert app.invoke(echo, "now") == "now"
assert app.invoke(echo, "x" * 100_000) == "x" * 100_000
for call in (lambda: echo.delay("no"), lambda: app.result("direct").state):
    try:
        raise AssertionError(call())
    except SedanoError as denied:
        assert "not authorized" in str(denied) or "not allow" in str(denied), denied
"""


def test_a_program_that_calls_directly_needs_the_worker_the_keys_and_room_for_large_arguments(
    enforced: LocalStage, strict_child: Strict
) -> None:
    """What `grant_invoke` grants, and nothing else (tests/infra/test_beside_a_stage)."""
    settings, iam, sts = enforced.environment, _client(enforced, "iam"), _client(enforced, "sts")
    account, keys = sts.get_caller_identity()["Account"], f"parameter/sedano/{settings['SEDANO_STAGE']}/keys"
    granted = [
        {"Effect": "Allow", "Action": action, "Resource": resource}
        for action, resource in (
            ("lambda:InvokeFunction", settings["SEDANO_WORKER"]),
            ("ssm:GetParameter", f"arn:aws:ssm:{settings['AWS_REGION']}:{account}:{keys}"),
            ("s3:PutObject", f"arn:aws:s3:::{settings['SEDANO_BLOBS_BUCKET']}/*"),
        )
    ]
    trust = {"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{account}:root"}, "Action": "sts:AssumeRole"}
    iam.create_role(RoleName="caller", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]}))
    policy = json.dumps({"Version": "2012-10-17", "Statement": granted})
    iam.put_role_policy(RoleName="caller", PolicyName="invoke", PolicyDocument=policy)
    given = sts.assume_role(RoleArn=f"arn:aws:iam::{account}:role/caller", RoleSessionName="caller")["Credentials"]
    names = {"AWS_ACCESS_KEY_ID": "AccessKeyId", "AWS_SECRET_ACCESS_KEY": "SecretAccessKey", "AWS_SESSION_TOKEN": "SessionToken"}
    own = {variable: given[name] for variable, name in names.items()}
    path = os.pathsep.join([str(ROOT / "layers" / "sedano" / "python"), str(CODE)])
    environment = strict_child({**os.environ, **settings, **own, "PYTHONPATH": path})
    done = subprocess.run([sys.executable, "-c", CALLER], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}\n{enforced.endpoint.last_lines()}"


def test_a_function_whose_role_allows_nothing_is_denied(enforced: LocalStage) -> None:
    functions, roles = _client(enforced, "lambda"), _client(enforced, "iam")
    listed = functions.list_functions()["Functions"]
    recorder = next(function for function in listed if "Recorder" in function["FunctionName"])
    role = recorder["Role"].split("/")[-1]
    for policy in roles.list_role_policies(RoleName=role)["PolicyNames"]:
        roles.delete_role_policy(RoleName=role, PolicyName=policy)
    answer = functions.invoke(FunctionName=recorder["FunctionName"], Payload=json.dumps(COMMAND))
    assert json.load(answer["Payload"]) == {"batchItemFailures": [{"itemIdentifier": "m1"}]}
