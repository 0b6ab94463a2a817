"""Queues over several brokers keep the promises of queues, in memory and over SQS in two Regions."""

import inspect
import time
from collections.abc import Callable
from dataclasses import replace
from threading import Event
from typing import Any

import botocore.session
import pytest
from botocore.exceptions import ConnectTimeoutError

from sedano import Sedano, memory, sqs
from sedano.aws.client.session import Session
from sedano.aws.deployment import ports_of, preferring
from sedano.aws.queues import SqsQueues
from sedano.aws.settings import from_environment
from sedano.errors import ConfigurationError
from sedano.host import publisher_command
from sedano.model.brokers import SqsBroker
from sedano.ports import Outgoing, Ports
from sedano.ports.brokers import Broker, Brokers
from tests.conformance import test_queues, test_queues_in_order
from tests.conformance.worlds import COMMANDS, World, in_memory
from tests.plugins.resources import QUEUES, Resources

Promise = Callable[[World], None]
PROMISES = {
    name: promise
    for module in (test_queues, test_queues_in_order)
    for name, promise in vars(module).items()
    if name.startswith("test_") and [*inspect.signature(promise).parameters] == ["world"]
}
AWAY = "eu-west-1"
ORDER = (sqs(), sqs(region=AWAY))


class TwoRegions:
    """The queues of a stage in two Regions; `is_down`: the requests to the stage's own Region fail, after `silence` seconds. *failing*: how
    many did.
    """

    def __init__(self, resources: Resources) -> None:
        """Make the queues of the second Region, under the same names."""
        self.resources, self.is_down, self.failing = resources, False, 0
        self.silence, self.ended = 0.0, Event()
        self.settings = dict(resources.settings)
        self.home = resources.session.region_name
        found: Any = resources.session.get_credentials()
        self._source = botocore.session.Session()
        self._source.set_credentials(found.access_key, found.secret_key)
        self._source.set_config_variable("region", self.home)
        self._source.register("before-send.sqs.SendMessageBatch", self._lose)
        self.away: Any = resources.session.client("sqs", region_name=AWAY, endpoint_url=resources.endpoint_url)
        ports = self.ports()
        assert isinstance(ports.queues, SqsQueues)
        self.urls = ports.queues.addresses()
        for url in self.urls.values():
            if not url.endswith(".fifo"):
                self.away.create_queue(QueueName=url.rpartition("/")[2])

    def _lose(self, **event: Any) -> None:
        if self.is_down and f"/{self.home}/sqs/" in str(event["request"].headers["Authorization"]):
            self.failing += 1
            self.ended.wait(self.silence)
            raise ConnectTimeoutError(endpoint_url=event["request"].url)

    def ports(self, brokers: tuple[SqsBroker, ...] = (), component: str = "client", **options: Any) -> Ports:
        """Return the ports of a program with these *brokers*."""
        with preferring(brokers):
            return ports_of(from_environment(self.settings), component, self.session(), **options)

    def session(self, **options: Any) -> Session:
        """Return a session in the stage's own Region."""
        return Session(lambda: self._source, self.resources.endpoint_url, **options)

    def waiting(self, key: str = COMMANDS) -> list[str]:
        """Return what waits in the second Region."""
        url = self.away.get_queue_url(QueueName=self.urls[key].rpartition("/")[2])["QueueUrl"]
        return [message["Body"] for message in self.away.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", ())]


@pytest.fixture(params=["moto", pytest.param("ministack", marks=pytest.mark.ministack)])
def regions(request: pytest.FixtureRequest) -> TwoRegions:
    """A stage with queues in two Regions."""
    return TwoRegions(request.getfixturevalue("resources" if request.param == "moto" else "ministack_resources"))


@pytest.mark.parametrize("promise", PROMISES.values(), ids=PROMISES)
def test_brokers_keep_the_promises_of_queues(promise: Promise) -> None:
    world = in_memory()
    ports = memory.ports(QUEUES)
    away = memory.MemoryQueues(ports.clock, memory.queue_keys(QUEUES))
    promise(replace(world, queues=Brokers([Broker(AWAY, away), Broker("home", ports.queues)], ports.clock, ports.telemetry)))


def test_sqs_in_two_regions_is_one_set_of_queues(regions: TwoRegions) -> None:
    queues = regions.ports(ORDER).queues
    assert isinstance(queues, Brokers)
    assert queues.send(COMMANDS, [Outgoing("at home")]) == [None]
    assert queues.sources(COMMANDS) == [COMMANDS, f"{COMMANDS}@{AWAY}"]
    regions.is_down = True
    for number in range(20):
        assert queues.send(COMMANDS, [Outgoing(f"away {number}")]) == [None]
    assert 1 <= regions.failing <= 3
    (first,) = queues.receive(COMMANDS)
    assert first.body == "at home"
    queues.delete([first])
    others = queues.receive(COMMANDS, most=10)
    assert {delivery.body.split()[0] for delivery in others} == {"away"}
    queues.hold(others[0], 0)
    queues.delete(others)
    while rest := queues.receive(f"{COMMANDS}@{AWAY}"):
        queues.delete(rest)
    assert regions.waiting() == []


def test_a_program_publishes_into_the_second_region(regions: TwoRegions) -> None:
    app = Sedano("shop", queues=QUEUES, brokers=ORDER)
    note = app.task(name="shop.note")(lambda number: number)
    app.attach(regions.ports(ORDER))
    regions.is_down = True
    for number in range(5):
        note.delay(number)
    assert len(regions.waiting()) == 5
    assert regions.failing == 1


@pytest.mark.parametrize(("away", "warnings"), [(sqs(region=AWAY), 1), (sqs("default", region=AWAY), 0)])
def test_a_program_that_sends_an_event_home_is_warned_unless_it_names_the_queues(
    regions: TwoRegions, away: SqsBroker, warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    queues = regions.ports((sqs(), away)).queues
    assert [*queues.send("events", [Outgoing("{}")]), *queues.send("events", [Outgoing("{}")])] == [None, None]
    assert len([text for text in caplog.messages if "name the queues that another broker takes" in text]) == warnings


def test_the_environment_replaces_the_brokers_of_the_app(regions: TwoRegions) -> None:
    regions.settings["SEDANO_BROKERS"] = "home"
    queues: Any = regions.ports(ORDER).queues
    assert queues.sources(COMMANDS) == [COMMANDS]
    regions.settings["SEDANO_BROKERS"] = f"{AWAY},home"
    queues = regions.ports().queues
    assert queues.sources(COMMANDS) == [f"{COMMANDS}@{AWAY}", COMMANDS]
    assert queues.send(COMMANDS, [Outgoing("away")]) == [None]
    assert regions.waiting() == ["away"]
    regions.settings["SEDANO_BROKERS"] = "home,moon"
    with pytest.raises(ConfigurationError, match="SEDANO_BROKERS: region: 'moon' is not a Region of AWS"):
        regions.ports()


def test_a_queue_that_the_second_region_lacks_keeps_the_message_for_the_backlog(regions: TwoRegions) -> None:
    url = regions.away.get_queue_url(QueueName=regions.urls[COMMANDS].rpartition("/")[2])["QueueUrl"]
    regions.away.delete_queue(QueueUrl=url)
    queues = regions.ports(ORDER).queues
    regions.is_down = True
    (answer,) = queues.send(COMMANDS, [Outgoing("{}")])
    assert "ConnectTimeout" in repr(answer) or "no answer" in str(answer)


def test_a_publisher_process_sends_to_the_brokers_of_its_app_within_the_time_of_its_call(regions: TwoRegions) -> None:
    app = Sedano("shop", queues=QUEUES, brokers=(sqs(), sqs("default", region=AWAY)))
    queues = publisher_command.deployment(app, "", regions.settings, regions.session).queues
    assert isinstance(queues, Brokers)
    assert [queues.sources(key) for key in (COMMANDS, "commands:bulk")] == [[COMMANDS, f"{COMMANDS}@{AWAY}"], ["commands:bulk"]]
    regions.is_down, regions.silence = True, 20.0
    begun = time.monotonic()
    assert queues.send(COMMANDS, [Outgoing("away")]) == [None]
    assert time.monotonic() - begun < regions.silence
    regions.ended.set()
    assert regions.waiting() == ["away"]


def test_a_worker_process_receives_from_both_regions_for_its_own_visibility(regions: TwoRegions) -> None:
    queues: Any = regions.ports((sqs(), sqs("default", region=AWAY)), "worker", visibility=7).queues
    assert queues.sources("commands:bulk") == ["commands:bulk"]
    regions.is_down = True
    queues.send(COMMANDS, [Outgoing("away")])
    (found,) = queues.receive(f"{COMMANDS}@{AWAY}", 10, 0)
    assert (found.queue, found.body) == (COMMANDS, "away")
    assert found.receipt.startswith(f"{AWAY} ")
    queues.delete([found])
