"""An error of AWS ends a verb as an error of sedano: with the missing right by its name, or the service's own words."""

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from sedano.deploy.failure import DeployError, aws_errors
from sedano.errors import NotAllowed, Unavailable

DENIED = "User: arn:aws:iam::1:user/ci is not authorized to perform: cloudformation:DescribeStacks on resource: stack/a"


def _refused(code: str, text: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": text}}, "DescribeStacks")


@pytest.mark.parametrize(("text", "action"), [(DENIED, "cloudformation:DescribeStacks"), ("no", "DescribeStacks")])
def test_a_missing_right_is_named(text: str, action: str) -> None:
    with pytest.raises(NotAllowed, match="add the right to your user or role") as refused, aws_errors():
        raise _refused("AccessDenied", text)
    assert refused.value.action == action


def test_another_refusal_has_the_words_of_the_service() -> None:
    with pytest.raises(DeployError, match=r"^AWS refuses DescribeStacks \(LimitExceeded\): too many stacks$"), aws_errors():
        raise _refused("LimitExceeded", "too many stacks")


def test_no_answer_is_one_to_try_again() -> None:
    with pytest.raises(Unavailable, match="did not answer"), aws_errors():
        raise EndpointConnectionError(endpoint_url="https://there")
