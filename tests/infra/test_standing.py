"""A stage is not given to another application, and no queue is taken away with what waits in it, unless that is said."""

import json
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError
from moto import mock_aws

from infra import command
from infra.application import application
from infra.config import ConfigError
from infra.context import from_context
from sedano.deploy.account import AccountError, Target
from sedano.deploy.assembly import BOOTSTRAPPED
from sedano.deploy.command_names import MAKE
from sedano.deploy.existing_stage import require_empty, require_free, require_same, standing
from sedano.deploy.foreign_queues import require_readable
from tests.plugins.resources import APP, CODE

WHERE = Target("123456789012", "eu-central-1")
BEGIN = "sedano-dev-1a2b3c4d-"


@pytest.fixture
def session() -> Iterator[boto3.Session]:
    """An account in which the stage dev runs `shop:app` with the queues `default` and `mail`."""
    with mock_aws():
        session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=WHERE.region)
        session.client("ssm").put_parameter(Name=BOOTSTRAPPED, Value="30", Type="String")
        queues = {name: _queue(session, f"{BEGIN}{name}") for name in ("default", "mail")}
        _deployed(session, {BEGIN: list(queues)}, queues["default"].replace(f"{BEGIN}default", "core-Events-1"))
        yield session


def _queue(session: boto3.Session, name: str) -> str:
    """Make a queue with dead letters; return its URL."""
    sqs = session.client("sqs")
    dead = sqs.create_queue(QueueName=f"{name}-dead")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    redrive = {"RedrivePolicy": json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": "25"})}
    return sqs.create_queue(QueueName=name, Attributes=redrive)["QueueUrl"]


def _deployed(session: boto3.Session, queues: object, events: str) -> None:
    """Make the stack of the stage dev, with the output that names its *queues*."""
    said = {"SedanoApp": "shop:app", "SedanoQueues": json.dumps(queues), "SedanoEventsQueue": events}
    outputs = {name: {"Value": value} for name, value in said.items()}
    template = {"Resources": {"T": {"Type": "AWS::SNS::Topic"}}, "Outputs": outputs}
    session.client("cloudformation").create_stack(StackName="sedano-dev-core", TemplateBody=json.dumps(template))


def test_another_application_does_not_take_the_place_of_the_first(session: boto3.Session) -> None:
    found = standing(session, WHERE, "dev")
    assert found is not None
    require_same(found, "dev", "shop:app", MAKE)
    with pytest.raises(AccountError, match=r'^app: the stage dev runs shop:app, and bank:app would .*\(default, mail\).* SET="repl'):
        require_same(found, "dev", "bank:app", MAKE)


def _ready(session: boto3.Session, code: Path, app: str, more: str = "", **settings: str) -> None:
    """Go as far as `make deploy` goes before it makes the templates of *app*, whose one queue is `default`."""
    module, _, name = app.partition(":")
    (code / f"{module}.py").write_text(f"from sedano import Sedano\n\n{name} = Sedano('{module}')\n{more}")
    wanted = from_context({"app": app, "code": str(code), "stage": "dev", **settings})
    declared = application(wanted.app, wanted.code, wanted.config).declared
    command._require_ready("deploy", session, WHERE, wanted, declared)


def test_a_deployment_looks_at_what_stands_there_before_it_begins(session: boto3.Session, tmp_path: Path) -> None:
    _ready(session, tmp_path, "shop:app")
    with pytest.raises(AccountError, match=r"^app: the stage dev runs shop:app, and bank:app would replace it"):
        _ready(session, tmp_path, "bank:app")
    _ready(session, tmp_path, "bank:app", replace="true")
    sqs = session.client("sqs")
    sqs.send_message(QueueUrl=sqs.get_queue_url(QueueName=f"{BEGIN}mail")["QueueUrl"], MessageBody="one")
    with pytest.raises(AccountError, match=r"^queues: the application no longer names mail \(1\)\."):
        _ready(session, tmp_path, "shop:app")
    _ready(session, tmp_path, "shop:app", replace="true")


FOREIGN = """
@app.stream("uploads", reads="s3")
@app.task
def stored(change: object) -> None: ...

@app.stream("clicks")
@app.task
def clicked(record: object) -> None: ...
"""
UPLOADS = "arn:aws:sqs:eu-central-1:123456789012:uploads"
CLICKS = "arn:aws:kinesis:eu-central-1:123456789012:stream/clicks"


def test_a_queue_that_hides_its_messages_too_briefly_is_refused_before_the_deployment(session: boto3.Session, tmp_path: Path) -> None:
    """CloudFormation would refuse it after minutes, and 30 s, against the 60 of a function, is what a new queue has."""
    streams, sqs = f"uploads={UPLOADS},clicks={CLICKS}", session.client("sqs")
    with pytest.raises(AccountError, match=r"^streams\[uploads\]: the queue uploads is not in account 123456789012 in eu-ce"):
        _ready(session, tmp_path, "shop:app", more=FOREIGN, streams=streams)
    url = sqs.create_queue(QueueName="uploads")["QueueUrl"]
    with pytest.raises(AccountError) as refused:
        _ready(session, tmp_path, "shop:app", more=FOREIGN, streams=streams)
    assert str(refused.value) == (
        "streams[uploads]: the queue uploads hides a received message for 30 s, and Lambda reads no queue that hides it for less than the "
        f"function's time limit, 60 s: raise it with `aws sqs set-queue-attributes --queue-url {url} --attributes VisibilityTimeout=360`, "
        "or give the stage a shorter timeout"
    )
    _ready(session, tmp_path, "shop:app", more=FOREIGN, streams=streams, timeout="30")
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "60"})
    _ready(session, tmp_path, "shop:app", more=FOREIGN, streams=streams)


def test_a_queue_of_another_account_that_cannot_be_read_from_here_is_left_to_the_deployment(session: boto3.Session) -> None:
    require_readable(session, WHERE, {"uploads": UPLOADS.replace("123456789012", "210987654321")}, 60)
    broken = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=WHERE.region)
    broken.events.register("before-send.sqs", _nobody_answers)
    require_readable(broken, WHERE, {"uploads": UPLOADS}, 60)


def _nobody_answers(**_: object) -> None:
    raise EndpointConnectionError(endpoint_url="https://sqs")


def test_the_longest_advice_is_the_longest_time_that_a_queue_can_hide_a_message(session: boto3.Session) -> None:
    session.client("sqs").create_queue(QueueName="uploads", Attributes={"VisibilityTimeout": "899"})
    with pytest.raises(AccountError, match="VisibilityTimeout=5400"):
        require_readable(session, WHERE, {"uploads": UPLOADS}, 900)
    with pytest.raises(AccountError, match="VisibilityTimeout=43200"):
        require_readable(session, WHERE, {"uploads": UPLOADS}, 7_201)


def test_a_stage_that_is_not_there_has_nothing_to_lose(session: boto3.Session) -> None:
    assert standing(session, WHERE, "prod") is None


@pytest.mark.parametrize("where", [f"{BEGIN}mail", f"{BEGIN}mail-dead"])
def test_a_queue_is_not_taken_away_with_what_waits_in_it(session: boto3.Session, where: str) -> None:
    found, sqs = standing(session, WHERE, "dev"), session.client("sqs")
    assert found is not None
    require_empty(session, WHERE, found, ["default"], MAKE)
    for body in ("one", "two"):
        sqs.send_message(QueueUrl=sqs.get_queue_url(QueueName=where)["QueueUrl"], MessageBody=body)
    require_empty(session, WHERE, found, ["default", "mail"], MAKE)
    with pytest.raises(AccountError, match=r"^queues: the application no longer names mail \(2\)\..*until it is empty, or add SET="):
        require_empty(session, WHERE, found, ["default"], MAKE)


def test_delayed_messages_and_those_that_are_worked_on_count(session: boto3.Session) -> None:
    found, sqs = standing(session, WHERE, "dev"), session.client("sqs")
    assert found is not None
    sqs.send_message(QueueUrl=found.queues["mail"], MessageBody="later", DelaySeconds=900)
    sqs.send_message(QueueUrl=found.queues["mail"], MessageBody="now")
    sqs.receive_message(QueueUrl=found.queues["mail"])
    with pytest.raises(AccountError, match=r"mail \(2\)"):
        require_empty(session, WHERE, found, ["default"], MAKE)


def test_queues_that_an_earlier_version_named_are_not_replaced_with_what_waits_in_them(session: boto3.Session) -> None:
    cloudformation, url = session.client("cloudformation"), _queue(session, "sedano-dev-core-CommandsmailQueue-x")
    cloudformation.delete_stack(StackName="sedano-dev-core")
    _deployed(session, {"mail": url}, "")
    found = standing(session, WHERE, "dev")
    assert found is not None
    require_empty(session, WHERE, found, ["mail"], MAKE)
    session.client("sqs").send_message(QueueUrl=url, MessageBody="one")
    with pytest.raises(AccountError, match=r"^queues: this version of sedano replaces the queues mail \(1\) by new ones\..* SET="):
        require_empty(session, WHERE, found, ["mail"], MAKE)
    require_free(session, WHERE, found, ["mail", "bulk"])


def test_a_queue_that_production_kept_is_not_in_the_way_without_a_word(session: boto3.Session) -> None:
    found, sqs = standing(session, WHERE, "dev"), session.client("sqs")
    assert found is not None
    require_free(session, WHERE, found, ["default", "mail", "bulk"])
    url = _queue(session, f"{BEGIN}bulk")
    sqs.send_message(QueueUrl=url, MessageBody="one")
    require_free(session, WHERE, found, ["default", "mail"])
    with pytest.raises(AccountError, match=rf"^queues: bulk \(1\) was kept when .* \(`aws sqs delete-queue --queue-url {url}`"):
        require_free(session, WHERE, found, ["default", "mail", "bulk"])


def test_what_is_meant_is_said_in_a_setting() -> None:
    context = {"app": APP, "code": str(CODE)}
    assert from_context(context).replace is False
    assert from_context({**context, "replace": "true"}).replace is True
    with pytest.raises(ConfigError, match=r"^replace: 'maybe' cannot be used; expected true or false"):
        from_context({**context, "replace": "maybe"})
