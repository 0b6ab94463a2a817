"""The scheduler function over DynamoDB and SQS on moto: what the app declares is published ahead, once however often it is invoked."""

from collections.abc import Iterator, Mapping

import pytest

from sedano.aws.client import keys
from sedano.aws.deployment import ports_of
from sedano.aws.settings import command_addresses, from_environment
from sedano.errors import ConfigurationError
from sedano.model.schedules.agenda import Agenda
from tests.functions.clockwork import app
from tests.functions.conftest import Handler, Remaining, environment, handler_of
from tests.plugins.resources import Resources

APP = "tests.functions.clockwork:app"
INVOKED = {"id": "EventBridge Scheduler sends what it likes"}


@pytest.fixture
def handler(settings: Mapping[str, str]) -> Iterator[Handler]:
    """The scheduler function, started cold."""
    with environment({**settings, "SEDANO_APP": APP}):
        yield handler_of("scheduler")


def waiting(resources: Resources, settings: Mapping[str, str]) -> int:
    """How many messages the command queue holds back."""
    names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed")
    url = command_addresses(settings)["default"]
    found = resources.session.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)
    return sum(int(found["Attributes"][name]) for name in names)


def test_what_comes_in_the_next_minute_and_a_half_is_published_once(
    handler: Handler, resources: Resources, settings: Mapping[str, str]
) -> None:
    assert handler(INVOKED, Remaining()) == {"published": 3, "missed": 0, "failed": 0}
    again = handler(INVOKED, Remaining())["published"]
    assert again <= 1  # one more, when a moment came into reach between the two
    assert waiting(resources, settings) == 3 + again
    (found,) = app.schedules.list()
    assert (found.name, found.task, found.args, found.declared) == ("often", "tests.functions.clockwork.tick", (7,), True)


def test_where_no_scheduler_is_deployed_whoever_adds_a_schedule_is_told_so(settings: Mapping[str, str]) -> None:
    without = from_environment({**settings, "SEDANO_SCHEDULER": "off"})
    with pytest.raises(ConfigurationError, match=r"runs no scheduler.*deploy with the setting schedules=true"):
        ports_of(without, "client").schedules.read()


def test_what_a_client_pauses_rests(handler: Handler, resources: Resources, settings: Mapping[str, str]) -> None:
    assert app.schedules.pause("often").paused
    assert handler(INVOKED, Remaining())["published"] == 0
    assert waiting(resources, settings) == 0
    assert app.schedules.list()[0].missed >= 3


@pytest.mark.parametrize(("component", "converts"), [("scheduler", True), ("controller", False), ("worker", False), ("client", False)])
def test_the_stages_scheduler_alone_writes_agendas_that_an_older_scheduler_cannot_read(
    resources: Resources, settings: Mapping[str, str], component: str, converts: bool
) -> None:
    seen = Agenda(5)
    with environment(settings):
        assert ports_of(from_environment(settings), component).schedules.change(seen._replace(nonce=component), seen).done
    key = {"pk": {"S": keys.agenda(5)}}
    item = resources.session.client("dynamodb").get_item(TableName=settings["SEDANO_CONTROL_TABLE"], Key=key)["Item"]
    assert ("dg" in item) == converts
