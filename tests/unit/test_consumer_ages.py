"""The ages of queues on AWS are an extra of a view, so a view does not wait long for them."""

import socket
from contextlib import closing

import pytest

from sedano.aws.client.session import Session
from sedano.aws.deployment import ports_of
from sedano.aws.settings import from_environment
from sedano.errors import Unavailable
from tests.unit.slim.scripted import source
from tests.unit.test_direct_calls import STAGE


def test_cloudwatch_that_cannot_be_reached_costs_one_attempt() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as gone:
        url = f"http://127.0.0.1:{gone.getsockname()[1]}"
    session = Session(source, url)
    settings = from_environment({**STAGE, "SEDANO_QUEUES": '{"default": "https://sqs.eu-west-1.amazonaws.com/1/default"}'})
    with pytest.raises(Unavailable, match=r"cloudwatch\.GetMetricData"):
        ports_of(settings, "doctor", session).consumers.ages(["commands:default"])
    assert session.calls == {"cloudwatch.GetMetricData": 1}
