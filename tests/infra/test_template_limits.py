"""No template is larger than CloudFormation, IAM, KMS, S3 and Lambda take."""

from sedano.deploy import assembly
from tests.infra.template import Templates
from tests.strict_aws.templates import problems


def test_nothing_of_a_template_is_beyond_a_limit_of_aws(templates: Templates) -> None:
    found = {stack.name: list(problems(stack.template)) for stack in assembly.stacks(templates.directory)}
    assert len(found) >= 2
    assert {name: trips for name, trips in found.items() if trips} == {}
