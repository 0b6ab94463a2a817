"""The controller function over DynamoDB, SQS and Lambda on moto: a backlog changes the mapping, an expired check its event, once."""

import io
import json
import time
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from sedano.aws.control import DynamoControl
from sedano.aws.rollups import DynamoRollups
from sedano.aws.settings import command_addresses
from sedano.model.history.cost_shares import Share, SharePlace
from sedano.model.history.rollups import Rollup, Sums, written
from tests.functions.conftest import Handler, Remaining, environment, handler_of
from tests.plugins.resources import Resources

INVOKED = {"id": "EventBridge Scheduler sends what it likes"}
IDLE = {"warned": 0, "paused": 0, "resumed": 0}
"""A round that changed nothing about spending limits."""


@pytest.fixture
def lambdas(resources: Resources) -> Any:
    """A client for Lambda."""
    return resources.session.client("lambda")


@pytest.fixture
def mapping(resources: Resources, settings: Mapping[str, str], lambdas: Any) -> str:
    """The mapping of the command queue to a function that is never invoked; its UUID."""
    trust = json.dumps({"Version": "2012-10-17", "Statement": []})
    role = resources.session.client("iam").create_role(RoleName="worker", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("handler.py", "handler = print")
    code = {"ZipFile": archive.getvalue()}
    lambdas.create_function(FunctionName="worker", Runtime="python3.13", Role=role, Handler="handler.handler", Code=code)
    sqs = resources.session.client("sqs")
    url = command_addresses(settings)["default"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    made = lambdas.create_event_source_mapping(
        EventSourceArn=arn, FunctionName="worker", Enabled=False, ScalingConfig={"MaximumConcurrency": 10}
    )
    for number in range(0, 200, 10):
        sqs.send_message_batch(QueueUrl=url, Entries=[{"Id": str(n), "MessageBody": f"{number} {n}"} for n in range(10)])
    found: str = made["UUID"]
    return found


@pytest.fixture
def handler(settings: Mapping[str, str], mapping: str) -> Iterator[Handler]:
    """The controller function, started cold."""
    known = {"SEDANO_APP": "tests.functions.tended:app", "SEDANO_MAPPINGS": json.dumps({"default": mapping})}
    with environment({**settings, **known}):
        yield handler_of("controller")


def test_a_backlog_changes_the_limit_of_its_mapping_and_a_check_is_asked_for_once(
    handler: Handler, lambdas: Any, mapping: str, resources: Resources, settings: Mapping[str, str]
) -> None:
    assert handler(INVOKED, Remaining()) == {"lost": 0, "stuck": 0, "scaled": 1, "asked": 1} | IDLE
    assert handler(INVOKED, Remaining()) == {"lost": 0, "stuck": 0, "scaled": 0, "asked": 0} | IDLE
    scaling = lambdas.get_event_source_mapping(UUID=mapping).get("ScalingConfig")
    assert scaling == {"MaximumConcurrency": 30}, "ten as it was, and twenty invocations for what waits"
    events = resources.session.client("sqs").receive_message(QueueUrl=settings["SEDANO_EVENTS_QUEUE"])["Messages"]
    assert [json.loads(event["Body"])["subject"] for event in events] == ["mail_expired"]


def test_a_tenant_whose_spending_reaches_its_limit_is_paused_over_the_tables(
    handler: Handler, resources: Resources, settings: Mapping[str, str]
) -> None:  # fmt: skip
    dynamodb, minute = resources.session.client("dynamodb"), int(time.time()) // 60
    sums = Sums({}, {("worker", minute): 10**9}, 0, {SharePlace("shop.pay", "acme", minute): Share(1, 10**9)})
    DynamoRollups(dynamodb, settings["SEDANO_CONTROL_TABLE"]).put(Rollup("an object", minute, written(sums)))
    first, second = handler(INVOKED, Remaining()), handler(INVOKED, Remaining())
    assert [first[name] for name in IDLE] == [0, 1, 0]
    assert [second[name] for name in IDLE] == [0, 0, 0]
    (paused,) = DynamoControl(dynamodb, settings["SEDANO_CONTROL_TABLE"]).read().paused
    assert paused.startswith("tenant=acme ")
