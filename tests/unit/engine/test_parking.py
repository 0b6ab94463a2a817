"""Parking alone: what a parked message carries, where a long body lies, and what becomes of one that the parked queue refuses."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.batch import Batch
from sedano.engine.parked import parking
from sedano.engine.parked.parking import SEAL, ParkingLot
from sedano.errors import SedanoError, Unavailable
from sedano.memory import START
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import BlobRef
from sedano.model.queues import QueueBounds
from sedano.ports import PARKED, Delivery, Outgoing, Ports
from tests.unit.engine.gated import batch
from tests.unit.engine.test_pacing import without_keys


class Picky(memory.MemoryQueues):
    """Queues of which the parked one does not take the messages with the reason `busy`."""

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Send the others."""
        taken = [one for one in messages if one.attributes.get("reason") != "busy"]
        super().send(queue, taken)
        return [None if one in taken else Unavailable("away") for one in messages]


def parked(ports: Ports, *some: tuple[Delivery, str, str, str]) -> Batch:
    """The batch after these messages were parked."""
    found = batch(ports)
    for delivery, code, field, detail in some:
        found.park(delivery, code, field, detail)
    ParkingLot(ports, LamportClock(lambda: 7)).settle(found)
    return found


def of(ports: Ports) -> list[dict[str, str]]:
    """The attributes of what is parked, without the mark."""
    return [{name: text for name, text in one.attributes.items() if name != SEAL} for one in ports.queues.peek(PARKED)]


def test_a_parked_message_has_its_reason_its_origin_and_a_mark_over_all_of_them() -> None:
    ports = memory.ports()
    found = parked(ports, (Delivery("commands:q.fifo", "m-9", "r", '{"a":1}', serial_key="k"), "malformed", "fie\nld", "de\ttail"))
    (sent,) = ports.queues.peek(PARKED)
    assert of(ports) == [{
        "reason": "malformed", "field": "fie?ld", "detail": "de?tail", "queue": "commands:q.fifo", "message_id": "m-9", "serial_key": "k",
    }]  # fmt: skip
    assert (sent.body, sent.delay, sent.serial_key) == ('{"a":1}', 0, None)
    marked = ("commands:q.fifo", "m-9", "malformed", "fie?ld", "de?tail", "k", "", '{"a":1}')
    assert ports.seals.is_marked(sent.attributes[SEAL], PARKED, *marked)
    assert (found.parkings, found.given_back) == ([], [])
    assert found.chronicle.lines == [
        {"type": "message-parked", "clock": 7, "timestamp": START, "reason": "malformed", "message_id": "m-9"}
    ]  # fmt: skip


def test_what_is_parked_is_counted_and_logged() -> None:
    ports = memory.ports()
    parked(ports, (Delivery("commands:q", "m-9", "r", "{"), "malformed", "body", "why"))
    telemetry: Any = ports.telemetry
    (line,) = telemetry.lines
    assert (line.level, line.message) == ("error", "message parked")
    assert line.fields == {"reason": "malformed", "field": "body", "detail": "why", "queue": "commands:q", "message_id": "m-9"}
    assert telemetry.counted("MessagesParked", reason="malformed") == 1


@pytest.mark.parametrize(("length", "field", "detail"), [(0, "-", "-"), (256, "x" * 256, "x" * 256), (600, "x" * 256, "x" * 512)])
def test_a_reason_is_cut_and_one_that_is_empty_is_a_dash(length: int, field: str, detail: str) -> None:
    ports = memory.ports()
    parked(ports, (Delivery("", "m", "r", "{"), "malformed", "x" * length, "x" * length))
    assert of(ports) == [{"reason": "malformed", "field": field, "detail": detail, "queue": "-", "message_id": "m"}]


@pytest.mark.parametrize(("body", "is_long"), [("abcd", False), ("éé", False), ("abcde", True), ("éé!", True), ("a\ud800b", True)])
def test_a_body_for_which_the_attributes_leave_no_room_lies_in_the_blob_store(body: str, is_long: bool) -> None:
    ports = memory.ports(bounds=QueueBounds(max_bytes=8_576 + 4))
    parked(ports, (Delivery("commands:q", "m", "r", body), "malformed", "body", "-"))
    (sent,) = ports.queues.peek(PARKED)
    if not is_long:
        assert (sent.body, sent.attributes.get("blob")) == (body, None)
        return
    digest, _, size = sent.attributes["blob"].partition(" ")
    assert sent.body == f"blob:{digest}"
    assert int(size) == len(body.encode("utf-8", "surrogatepass"))
    assert ports.blobs.get(BlobRef(digest, int(size))).decode("utf-8", "surrogatepass") == body
    assert ports.seals.is_marked(sent.attributes[SEAL], PARKED, *parking.proof(sent.body, sent.attributes))


def test_without_keys_a_message_is_parked_without_a_mark() -> None:
    ports = without_keys(memory.ports())
    parked(ports, (Delivery("commands:q", "m", "r", "{"), "malformed", "body", "-"))
    (sent,) = ports.queues.peek(PARKED)
    assert SEAL not in sent.attributes


def test_a_message_that_cannot_be_parked_comes_again_and_the_others_are_parked() -> None:
    ports = memory.ports()
    ports = replace(ports, queues=Picky(ports.clock, memory.queue_keys(())))
    first, second, third = (Delivery("commands:q", name, "r", "{") for name in ("m-1", "m-2", "m-3"))
    found = parked(ports, (first, "malformed", "a", "b"), (second, "busy", "a", "b"), (third, "schema", "a", "b"))
    assert [one["message_id"] for one in of(ports)] == ["m-1", "m-3"]
    assert found.given_back == [second]
    assert [*found.deferred] == ["m-2"]
    telemetry: Any = ports.telemetry
    assert telemetry.messages() == ["message parked", "message could not be parked", "message parked"]
    assert (telemetry.lines[1].level, telemetry.lines[1].fields) == ("error", {"reason": "busy", "error": str(Unavailable("away"))})
    assert telemetry.counted("MessagesParked") == 2
    assert [line["message_id"] for line in found.chronicle.lines] == ["m-1", "m-3"]


def test_where_nothing_is_to_be_parked_the_queue_is_not_asked() -> None:
    ports = replace(memory.ports(), queues=memory.MemoryQueues(memory.VirtualClock(START), []))
    assert parked(ports).given_back == []
