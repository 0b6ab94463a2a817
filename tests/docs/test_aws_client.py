"""The page about the slim client: its setting is one of a stage, and it lists the calls that the client makes."""

import re
import tomllib

from infra.config import StageConfig
from sedano.aws.client.slim.client import OPERATIONS
from sedano.model.settings import DEPLOYMENT
from tests.docs.pages import page

PAGE = page("aws_client.md")


def test_the_setting_of_the_page_is_one_of_a_stage() -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE.text, re.DOTALL)
    given = tomllib.loads(block)["tool"]["sedano"]["stage"]["prod"]
    assert set(given) <= set(DEPLOYMENT)
    assert StageConfig(stage="prod", **given).aws_client == "slim"
    assert StageConfig().aws_client == "botocore"


def test_the_calls_of_the_page_are_those_of_the_client() -> None:
    for service, title in (("dynamodb", "DynamoDB"), ("sqs", "SQS")):
        (listed,) = re.findall(rf"^- {title}: (.*)\.$", PAGE.text, re.MULTILINE)
        assert set(re.findall(r"`(\w+)`", listed)) == set(OPERATIONS[service].values())
