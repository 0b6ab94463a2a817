"""A stage is not given to another application, and no queue is taken away with what waits in it, unless that is said."""

import json
from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws

from infra.account import AccountError, Target
from infra.config import ConfigError
from infra.context import from_context
from infra.standing import require_empty, require_same, standing
from tests.plugins.resources import APP, CODE

WHERE = Target("123456789012", "eu-central-1")


@pytest.fixture
def session() -> Iterator[boto3.Session]:
    """An account in which the stage dev runs `shop:app` with the queues `default` and `mail`."""
    with mock_aws():
        session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=WHERE.region)
        sqs = session.client("sqs")
        dead = sqs.create_queue(QueueName="mail-dead")["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        redrive = {"RedrivePolicy": json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": "25"})}
        queues = {name: sqs.create_queue(QueueName=name, Attributes=redrive)["QueueUrl"] for name in ("default", "mail")}
        outputs = {"SedanoApp": {"Value": "shop:app"}, "SedanoQueues": {"Value": json.dumps(queues)}}
        template = {"Resources": {"T": {"Type": "AWS::SNS::Topic"}}, "Outputs": outputs}
        session.client("cloudformation").create_stack(StackName="sedano-dev-core", TemplateBody=json.dumps(template))
        yield session


def test_another_application_does_not_take_the_place_of_the_first(session: boto3.Session) -> None:
    found = standing(session, WHERE, "dev")
    assert found is not None
    require_same(found, "dev", "shop:app")
    with pytest.raises(AccountError, match=r'^app: the stage dev runs shop:app, and bank:app would .*\(default, mail\).* SET="repl'):
        require_same(found, "dev", "bank:app")


def test_a_stage_that_is_not_there_has_nothing_to_lose(session: boto3.Session) -> None:
    assert standing(session, WHERE, "prod") is None


@pytest.mark.parametrize("where", ["mail", "mail-dead"])
def test_a_queue_is_not_taken_away_with_what_waits_in_it(session: boto3.Session, where: str) -> None:
    found, sqs = standing(session, WHERE, "dev"), session.client("sqs")
    assert found is not None
    require_empty(session, WHERE, found, ["default"])
    for body in ("one", "two"):
        sqs.send_message(QueueUrl=sqs.get_queue_url(QueueName=where)["QueueUrl"], MessageBody=body)
    require_empty(session, WHERE, found, ["default", "mail"])
    with pytest.raises(AccountError, match=r"^queues: the application no longer names mail \(2\)\..*until it is empty, or say SET="):
        require_empty(session, WHERE, found, ["default"])


def test_delayed_messages_and_those_that_are_worked_on_count(session: boto3.Session) -> None:
    found, sqs = standing(session, WHERE, "dev"), session.client("sqs")
    assert found is not None
    sqs.send_message(QueueUrl=found.queues["mail"], MessageBody="later", DelaySeconds=900)
    sqs.send_message(QueueUrl=found.queues["mail"], MessageBody="now")
    sqs.receive_message(QueueUrl=found.queues["mail"])
    with pytest.raises(AccountError, match=r"mail \(2\)"):
        require_empty(session, WHERE, found, ["default"])


def test_what_is_meant_is_said_in_a_setting() -> None:
    context = {"app": APP, "code": str(CODE)}
    assert from_context(context).replace is False
    assert from_context({**context, "replace": "true"}).replace is True
    with pytest.raises(ConfigError, match=r"^replace: 'maybe' cannot be used; expected true or false"):
        from_context({**context, "replace": "maybe"})
