"""The page about the slim client: its setting is one of a stage, and it lists the calls that the client makes."""

import logging
import re
import tomllib

import pytest

from infra.config import StageConfig
from infra.constructs.grants import STATEMENTS
from sedano.aws.client.session import Session
from sedano.aws.client.slim.client import OPERATIONS
from sedano.aws.settings import from_environment
from sedano.model.settings import DEPLOYMENT
from tests.docs.pages import page
from tests.unit.slim.scripted import source
from tests.unit.test_settings import KNOWN

PAGE = page("aws_client.md")


def test_the_setting_of_the_page_is_one_of_a_stage() -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE.text, re.DOTALL)
    given = tomllib.loads(block)["tool"]["sedano"]["stage"]["prod"]
    assert set(given) <= set(DEPLOYMENT)
    assert StageConfig(stage="prod", **given).aws_client == "botocore"
    assert StageConfig().aws_client == "slim"


def test_group_commit_is_the_setting_that_the_page_names_and_its_permissions_are_granted() -> None:
    section = PAGE.text.partition("## Group commit")[2]
    assert set(re.findall(r"`(group_commit) = true`", section)) <= set(DEPLOYMENT)
    assert StageConfig(group_commit=True).group_commit is not StageConfig().group_commit
    assert from_environment({**KNOWN, "SEDANO_GROUP_COMMIT": "on"}).group_commit
    assert set(re.findall(r"`(dynamodb:PartiQL\w+)`", section)) == set(STATEMENTS)


def test_the_logger_of_the_page_names_the_reason(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("sedano.aws.client.session")
    before = logger.level
    try:
        for block in PAGE.blocks:
            PAGE.run(block, {})
        Session(source, "http://127.0.0.1:9", slim=True, tcp_keepalive=True).client("sqs")
    finally:
        logger.setLevel(before)
    assert caplog.messages == ["calls of sqs are made by botocore: TCP keep-alive or another signature is configured"]


def test_the_calls_of_the_page_are_those_of_the_client() -> None:
    for service, title in (("dynamodb", "DynamoDB"), ("sqs", "SQS")):
        (listed,) = re.findall(rf"^- {title}: (.*)\.$", PAGE.text, re.MULTILINE)
        assert set(re.findall(r"`(\w+)`", listed)) == set(OPERATIONS[service].values())
