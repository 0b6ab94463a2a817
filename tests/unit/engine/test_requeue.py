"""Messages that are sent anew to wait for their slot: with which delay and attributes, and what becomes of those that are not taken."""

from collections.abc import Sequence
from typing import Any

import pytest

from sedano.engine.batch import Job
from sedano.engine.publisher.requeue import Requeued, resend
from sedano.errors import SedanoError, Unavailable
from sedano.model.queues import SQS
from sedano.ports import Outgoing
from tests.unit.engine.gated import QUEUE, asked, batch, job, told, waits, world

OTHER = "commands:other"


def one(name: str, queue: str = QUEUE, **attributes: str) -> Job:
    """A job of this queue, whose tenant is `acme`."""
    found = job(name)
    command = found.command._replace(tenant="acme")
    return found._replace(command=command, delivery=found.delivery._replace(queue=queue, attributes=attributes))


@pytest.mark.parametrize(
    ("later", "delay"), [(-7.0, 0), (0.0, 0), (0.25, 1), (1.0, 1), (7.5, 8), (SQS.max_delay - 0.5, 900), (5_000.0, 900)]
)
def test_a_message_waits_until_its_slot_in_whole_seconds_for_as_long_as_its_queue_can_delay_it(later: float, delay: int) -> None:
    ports = world(0.5)
    found = batch(ports)
    resend(ports, [Requeued(one("a", kept="1", slot="old"), ports.clock.now() + later, {"slot": "new"}, "paced")], found)
    assert asked(ports.queues, "send") == [(QUEUE, [Outgoing("{}", delay, "acme", {"kept": "1", "slot": "new"})])]


def test_what_is_sent_is_acknowledged_counted_and_reported_with_its_slot() -> None:
    ports = world(0.5)
    found = batch(ports)
    at = ports.clock.now() + 7.0126
    resend(ports, [Requeued(one("a"), at, {}, "paced")], found)
    assert found.is_decided(one("a").delivery)
    assert (found.given_back, found.counts, told(found)) == ([], {("TasksHeld", "only"): 1}, [("a", "paced", round(at, 3))])
    (line,) = found.chronicle.lines
    assert (line["clock"], line["timestamp"], line["name"]) == (7, ports.clock.now(), "only")


def test_each_queue_has_its_call_and_what_it_does_not_take_waits() -> None:
    ports = world(0.5)
    calls: list[tuple[str, int]] = []

    def send(queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        calls.append((queue, len(messages)))
        if queue == OTHER:
            raise Unavailable("away")
        return [None, Unavailable("full")]

    ports.queues.send = send  # type: ignore[method-assign]
    found, at = batch(ports), ports.clock.now()
    some = [one("a"), one("x", OTHER), one("b"), one("y", OTHER)]
    resend(ports, [Requeued(item, at, {}, "paced") for item in some], found)
    assert calls == [(QUEUE, 2), (OTHER, 2)]
    assert [uuid for uuid, _, _ in told(found)] == ["a"]
    assert sorted(waits(found)) == ["b", "x", "y"]
    assert {key: item.reason for key, item in found.deferred.items()} == {
        "b": "not answered: full", "x": "not answered: away", "y": "not answered: away",
    }  # fmt: skip
    telemetry: Any = ports.telemetry
    assert [line.fields["task_id"] for line in telemetry.lines if line.level == "warning"] == ["b", "x", "y"]
