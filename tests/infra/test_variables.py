"""The variables of a deployed stage are its stacks' outputs, as a shell evaluates them; nobody else's output is among them."""

import subprocess

import boto3
import pytest
from moto import mock_aws

from sedano.deploy.account import AccountError, Target
from sedano.deploy.command_names import MAKE
from sedano.deploy.output_variables import exports, variables

WHERE = Target("123456789012", "eu-central-1")
STATE = '{"Resources": {"T": {"Type": "AWS::SNS::Topic"}}, "Outputs": {"SedanoLedgerTable": {"Value": "ledger"}}}'
CORE = """{"Resources": {"T": {"Type": "AWS::SNS::Topic"}}, "Outputs": {
  "SedanoQueues": {"Value": "{\\"default\\": \\"https://it's here\\"}"}, "PublishOutputRef": {"Value": "not ours"}
}}"""


def _session(*stacks: tuple[str, str]) -> boto3.Session:
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=WHERE.region)
    for name, template in stacks:
        session.client("cloudformation").create_stack(StackName=name, TemplateBody=template)
    return session


@mock_aws
def test_they_are_what_a_program_needs_and_a_shell_understands() -> None:
    session = _session(("sedano-dev-state", STATE), ("sedano-dev-core", CORE))
    found = exports(variables(session.client("cloudformation"), WHERE, "dev"))
    script = "\n".join([*found, 'echo "$SEDANO_LEDGER_TABLE|$SEDANO_QUEUES|$AWS_REGION|$AWS_DEFAULT_REGION"; env'])
    said = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True, env={}).stdout
    assert said.splitlines()[0] == """ledger|{"default": "https://it's here"}|eu-central-1|eu-central-1"""
    assert "not ours" not in said


@mock_aws
def test_of_a_stage_that_is_not_deployed_there_are_none() -> None:
    with pytest.raises(AccountError, match=r"the stage prod is not deployed in account 123456789012 in eu-central-1: run `make deploy`"):
        variables(_session(("sedano-dev-state", STATE)).client("cloudformation"), WHERE, "prod", MAKE)
