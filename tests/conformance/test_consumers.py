"""What consumes the queues: how much there is to do, and what was given up, without taking anything away."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sedano import memory
from sedano.aws.consumers import LambdaConsumers
from sedano.aws.machine import SystemClock
from sedano.errors import ConfigurationError, UnknownQueue
from sedano.model.budgets import Load
from sedano.ports import Outgoing, Ports
from sedano.sqlite.deployment import connect
from tests.conformance.worlds import COMMANDS, World, session_of
from tests.plugins.resources import Resources


def test_it_tells_what_waits_and_what_is_in_flight(world: World) -> None:
    assert world.consumers.load(COMMANDS) == Load(0, 0)
    world.queues.send(COMMANDS, [Outgoing(f"body {n}") for n in range(3)])
    assert world.consumers.load(COMMANDS) == Load(3, 0)
    (first,) = world.queues.receive(COMMANDS, 1)
    assert world.consumers.load(COMMANDS) == Load(2, 1)
    world.queues.delete([first])
    assert world.consumers.load(COMMANDS) == Load(2, 0)


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_a_message_grows_old_while_it_can_be_received(store: str, tmp_path: Path) -> None:
    ports, clock = dated(store, tmp_path)
    ages, queues = (lambda: ports.consumers.ages([COMMANDS])[COMMANDS]), ports.queues
    assert ages() == 0.0
    queues.send(COMMANDS, [Outgoing("late", delay=60), Outgoing("first")])
    clock.advance(25.0)
    assert ages() == 25.0
    (first,) = queues.receive(COMMANDS, 1)
    assert ages() == 0.0
    queues.hold(first, 0.0)
    clock.advance(5.0)
    assert ages() == 5.0
    queues.delete(queues.receive(COMMANDS, 1))
    clock.advance(40.0)
    assert ages() == 10.0, "it is 70 s after the sending, with a delay of 60 s"


def dated(store: str, folder: Path) -> tuple[Ports, memory.VirtualClock]:
    """A store with a clock that a test moves."""
    if store == "memory":
        ports = memory.ports()
        assert isinstance(ports.clock, memory.VirtualClock)
        return ports, ports.clock
    clock = memory.VirtualClock(memory.START)
    return connect(folder / "store.db", ("default",), clock, memory.SeededEntropy(), memory.MemoryTelemetry()), clock


class Metrics:
    """CloudWatch with these *values* by the name of a queue, the latest first; it notes the names of each request."""

    def __init__(self, values: Mapping[str, list[float]]) -> None:
        self.values, self.asked = values, list[list[str]]()

    def get_metric_data(self, **asked: Any) -> Mapping[str, Any]:
        """Answer as CloudWatch does: in its own order, and without values for a metric that has none."""
        assert (asked["EndTime"] - asked["StartTime"], asked["ScanBy"]) == (600.0, "TimestampDescending")
        metrics = {one["Id"]: one["MetricStat"] for one in asked["MetricDataQueries"]}
        assert {(one["Metric"]["Namespace"], one["Metric"]["MetricName"], one["Period"], one["Stat"]) for one in metrics.values()} == {
            ("AWS/SQS", "ApproximateAgeOfOldestMessage", 60, "Maximum")
        }
        names = {key: one["Metric"]["Dimensions"][0]["Value"] for key, one in metrics.items()}
        self.asked.append([*names.values()])
        return {"MetricDataResults": [{"Id": key, "Values": self.values.get(name, [])} for key, name in reversed(names.items())]}


def test_on_aws_an_age_is_the_latest_value_of_cloudwatch_and_is_asked_once_a_minute() -> None:
    metrics, clock = Metrics({"a": [42.0, 7.0], "c": [0.0]}), memory.VirtualClock(memory.START)
    urls = {f"commands:{name}": f"https://sqs.eu-west-1.amazonaws.com/1/{name}" for name in "abc"}
    consumers = LambdaConsumers(None, None, urls, {}, (metrics, clock))
    assert consumers.ages(["commands:a", "commands:b"]) == {"commands:a": 42.0, "commands:b": None}
    metrics.values = {"a": [43.0], "b": [1.0], "c": [0.0]}
    clock.advance(59.0)
    assert consumers.ages(["commands:c", "commands:a"]) == {"commands:c": 0.0, "commands:a": 42.0}
    clock.advance(1.0)
    assert consumers.ages(["commands:a", "commands:b"]) == {"commands:a": 43.0, "commands:b": 1.0}
    assert metrics.asked == [["a", "b"], ["c"], ["a", "b"]]
    assert consumers.ages([]) == {}
    assert LambdaConsumers(None, None, urls, {}).ages(["commands:a"]) == {"commands:a": None}
    with pytest.raises(UnknownQueue, match="queue: 'gone'"):
        consumers.ages(["commands:a", "commands:gone"])


def test_more_queues_than_one_request_may_name_are_asked_in_several() -> None:
    names = [f"q{number}" for number in range(501)]
    metrics = Metrics({name: [float(number)] for number, name in enumerate(names)})
    consumers = LambdaConsumers(None, None, {name: f"https://x/1/{name}" for name in names}, {}, (metrics, memory.VirtualClock(0.0)))
    assert consumers.ages(names) == {name: float(number) for number, name in enumerate(names)}
    assert [len(one) for one in metrics.asked] == [500, 1]


def test_moto_answers_with_the_metric_that_was_put(resources: Resources) -> None:
    session = session_of(resources)
    cloudwatch, queue = session.client("cloudwatch"), "https://sqs/1/commands-of-ages"
    named = [{"Name": "QueueName", "Value": "commands-of-ages"}]
    data = {"MetricName": "ApproximateAgeOfOldestMessage", "Dimensions": named, "Value": 950.0}
    cloudwatch.put_metric_data(Namespace="AWS/SQS", MetricData=[data])
    consumers = LambdaConsumers(None, None, {"a": queue, "b": "https://sqs/1/other"}, {}, (cloudwatch, Later()))
    assert consumers.ages(["a", "b"]) == {"a": 950.0, "b": None}


class Later(SystemClock):
    """The clock of this machine, a minute later: the value of this minute is in the window that is asked for."""

    def now(self) -> float:
        """In a minute."""
        return super().now() + 60.0


def test_dead_letters_are_shown_and_stay(world: World) -> None:
    assert world.consumers.dead(COMMANDS, 10) == []
    world.queues.send(COMMANDS, [Outgoing("poison")])
    for _ in range(world.max_receives + 1):
        for delivery in world.queues.receive(COMMANDS):
            world.queues.hold(delivery, 0.0)
    for _ in range(2):
        assert [letter.body for letter in world.consumers.dead(COMMANDS, 10)] == ["poison"]
    assert world.consumers.load(COMMANDS) == Load(0, 0)


def test_a_queue_that_is_not_there_is_named(world: World) -> None:
    for call in (world.consumers.load, lambda queue: world.consumers.dead(queue, 1), lambda queue: world.consumers.ages([queue])):
        with pytest.raises(UnknownQueue, match="queue: 'gone' is not known to this deployment"):
            call("commands:gone")


def test_limits_are_set_only_where_the_mapping_is_known(aws_world: World) -> None:
    assert aws_world.consumers.limit(COMMANDS) is None
    with pytest.raises(ConfigurationError, match="SEDANO_MAPPINGS does not name"):
        aws_world.consumers.set_limit(COMMANDS, 5)
