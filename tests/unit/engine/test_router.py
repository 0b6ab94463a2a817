"""The router alone: what becomes of an event that cannot be routed, and how often it reports what it costs."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.lineage_marks import marked
from sedano.engine.registry import Registry
from sedano.engine.router import Router
from sedano.errors import MessageRefused, SedanoError, TooLarge, Unavailable
from sedano.model import refusals
from sedano.model.history.run_rows import Host
from sedano.model.messages import codec
from sedano.model.messages.lineage import MAX_HOPS, Lineage, derived_id
from sedano.model.messages.message import Command, Document, Event
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.task_spec import TaskSpec
from sedano.ports import EVENTS, PARKED, RECORDS, Delivery, Outgoing, Ports
from tests.unit.engine.gated import QUEUE, advance, asked, world

SOLD = Event("e", "Sold", "host", 1.0)
BODY = codec.encode(SOLD)


def router(ports: Ports, **spec: Any) -> Router:
    """A router to one task, which is declared with *spec*."""
    only = TaskSpec("only", print, Parameters(lambda *_, **__: None), **spec)
    registry = Registry(tasks={"only": only}, subscriptions={"Sold": ["only"]}, documents={"price": ["only"]})
    return Router(registry, ports, Host("host", 1))


def route(ports: Ports, *bodies: str, receives: int = 4, sent: float = 0.0, **spec: Any) -> list[Delivery]:
    """The deliveries that are delivered again."""
    some = [Delivery(EVENTS, str(number), f"r{number}", body, receives, sent=sent) for number, body in enumerate(bodies)]
    return router(ports, **spec).route(some, ports.clock.now() + 10)


def commands(ports: Ports) -> list[Command]:
    """The commands that were sent."""
    found = [codec.decode(one.body) for one in ports.queues.peek(QUEUE)]
    return [one for one in found if isinstance(one, Command)]


def routed(ports: Ports) -> int:
    """How many commands were sent."""
    return len(ports.queues.peek(QUEUE))


def parked(ports: Ports) -> list[tuple[str, str, str]]:
    """What was set aside: the message, the reason and the field."""
    return [(one.attributes["message_id"], one.attributes["reason"], one.attributes["field"]) for one in ports.queues.peek(PARKED)]


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ("{", refusals.MALFORMED, "body"),
        (codec.encode(SOLD._replace(name="Lost")), refusals.UNKNOWN_EVENT, "subject"),
        (codec.encode(SOLD._replace(clock=10**17)), refusals.CLOCK_AHEAD, "clock"),
        (codec.encode(SOLD._replace(lineage=Lineage("r", "p", MAX_HOPS, 9))), refusals.HOPS, "hops"),
        (codec.encode(SOLD._replace(lineage=Lineage("r", "p", 1, 0))), refusals.BUDGET, "budget"),
    ],
)
def test_an_event_that_cannot_be_routed_is_set_aside_and_the_next_one_is_routed(body: str, code: str, field: str) -> None:
    ports = world()
    assert route(ports, body, BODY) == []
    assert (parked(ports), routed(ports)) == ([("0", code, field)], 1)


def test_a_command_in_the_queue_of_events_is_set_aside() -> None:
    ports = world()
    route(ports, BODY)
    (command,) = ports.queues.peek(QUEUE)
    route(ports, command.body)
    assert parked(ports) == [("0", refusals.SCHEMA, "type")]
    (one,) = ports.queues.peek(PARKED)
    assert one.attributes["detail"] == "the event queue takes events and documents, no commands"


def test_the_name_of_an_unknown_event_is_in_the_reason() -> None:
    ports = world()
    route(ports, codec.encode(SOLD._replace(name="Sodl")))
    (one,) = ports.queues.peek(PARKED)
    assert one.attributes["detail"].startswith("no event 'Sodl' in this deployment")


class Refusing(memory.MemoryQueues):
    """Queues one of which *refuses* with *error*."""

    error: SedanoError = TooLarge("message: too large")
    refuses = QUEUE

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Refuse in that queue."""
        return [self.error] * len(messages) if queue == self.refuses else super().send(queue, messages)


def refusing(error: SedanoError, queue: str = QUEUE) -> Ports:
    """Ports whose *queue* refuses with *error*."""
    ports = world()
    queues: Any = ports.queues
    queues.port.__class__ = Refusing
    queues.port.error, queues.port.refuses = error, queue
    return ports


def test_an_event_whose_command_is_not_taken_is_delivered_again() -> None:
    ports = refusing(TooLarge("message: too large"))
    assert [one.message_id for one in route(ports, BODY)] == ["0"]
    assert [delivery.message_id for delivery, _ in asked(ports.queues, "hold")] == ["0"]
    assert parked(ports) == []


def test_an_event_whose_command_is_refused_for_itself_is_set_aside() -> None:
    ports = refusing(MessageRefused(refusals.UNEXPECTED, "engine/x.py:1", "a defect"))
    assert route(ports, BODY) == []
    assert parked(ports) == [("0", refusals.UNEXPECTED, "engine/x.py:1")]


class Broken(memory.MemoryBlobs):
    """Blobs that break."""

    def get(self, ref: Any) -> bytes:
        """Break."""
        raise RuntimeError("a defect")


def test_an_event_that_nobody_foresaw_is_set_aside_and_the_next_one_is_routed() -> None:
    ports = world()
    ref = ports.blobs.put(b"{}")
    ports = replace(ports, blobs=Broken())
    route(ports, codec.encode(SOLD._replace(data_ref=ref)), BODY)
    assert ([one[:2] for one in parked(ports)], routed(ports)) == ([("0", refusals.UNEXPECTED)], 1)


def test_costs_are_told_once_a_minute() -> None:
    ports = world()
    one = router(ports)
    told = []
    for seconds in (0.0, 59.5, 1.0, 59.5, 1.0):
        advance(ports, seconds)
        one.route([Delivery(EVENTS, "m", "r", BODY)], ports.clock.now() + 10)
        told.append(sum(json.loads(sent.body)["lines"][-1]["invocations"] for sent in ports.queues.peek(RECORDS)))
    assert told == [1, 1, 3, 3, 5]


def test_a_line_of_costs_counts_what_arrived_and_what_was_given_back_and_no_time_between_two_invocations() -> None:
    ports = refusing(TooLarge("message: too large"))
    advance(ports, 5.0)
    route(ports, BODY, "{")
    (line,) = [one for sent in ports.queues.peek(RECORDS) for one in json.loads(sent.body)["lines"] if one["type"] == "router-invocation"]
    assert [line[name] for name in ("invocations", "messages", "given_back", "duration_ms")] == [1, 2, 1, 0.0]


def test_an_event_that_cannot_be_parked_is_hidden_before_the_invocation_is_told() -> None:
    ports = refusing(Unavailable("away"), PARKED)
    assert [one.message_id for one in route(ports, "{", receives=1)] == ["0"]
    queues: Any = ports.queues
    calls = [(name, args[0] if name == "send" else args[0].message_id) for name, args in queues.calls if name in ("send", "hold")]
    assert calls[-3:] == [("send", PARKED), ("hold", "0"), ("send", RECORDS)]


def test_what_is_counted_while_the_costs_are_told_is_written_too() -> None:
    ports = refusing(Unavailable("away"), RECORDS)
    route(ports, BODY)
    telemetry: Any = ports.telemetry
    telemetry.lose()
    assert telemetry.counted("RecordsDelayed") == 1


def test_a_budget_that_is_proven_for_the_event_is_divided_among_its_commands() -> None:
    ports = replace(world(), most_budget=100)
    proven = marked(ports, Lineage(budget=1_000), "e", "Sold")
    route(ports, codec.encode(SOLD._replace(lineage=proven)), codec.encode(SOLD._replace(id="f", lineage=proven)))
    assert [one.lineage.budget for one in commands(ports)] == [999, 99]


def test_the_fields_of_an_event_that_are_too_deep_for_a_command_set_it_aside() -> None:
    ports = world()
    plain = codec.encode(SOLD._replace(data={"n": 0}))
    assert '{"n":0}' in plain
    deep = [plain.replace('{"n":0}', f'{{"n":{"[" * depth}{"]" * depth}}}') for depth in (61, 62)]
    route(ports, *deep)
    assert (parked(ports), routed(ports)) == ([("1", refusals.TOO_DEEP, "data")], 1)


NOTE = Document("d-1", "t-1", "price", "shop@host", 5.0, 1, value={"cents": 5})


@pytest.mark.parametrize(
    ("body", "time"),
    [
        (codec.encode(NOTE), "1970-01-01T00:00:05.000000Z"),
        (codec.encode(NOTE).replace('"time":"1970-01-01T00:00:05.000000Z",', ""), "1970-01-01T00:01:00.000000Z"),
    ],
)
def test_a_document_calls_its_tasks_with_its_content_and_without_a_time_has_that_of_its_message(body: str, time: str) -> None:
    ports = world()
    route(ports, body, sent=60.0)
    (command,) = commands(ports)
    assert (command.task_id, command.task, dict(command.kwargs)) == (derived_id("d-1", "only"), "only", {})
    content = {"id": "d-1", "name": "price", "task_id": "t-1", "source": "shop@host", "time": time, "value": {"cents": 5}}
    assert [*command.args] == [content]


def test_the_content_of_a_large_document_comes_from_the_store() -> None:
    ports = world()
    ref = ports.blobs.put(codec.encode_document_data("large"))
    route(ports, codec.encode(NOTE._replace(value=None, data_ref=ref)))
    assert [one.args[0]["value"] for one in commands(ports)] == ["large"]


def test_a_document_without_a_value_is_set_aside() -> None:
    ports = world()
    route(ports, codec.encode(NOTE._replace(state="FAILURE", value=None, error=("a", "b", "c"))))
    assert (parked(ports), routed(ports)) == ([("0", refusals.SCHEMA, "state")], 0)
    assert ports.queues.peek(PARKED)[0].attributes["detail"] == "FAILURE: only a document with a value has sinks"


def test_the_command_of_an_event_has_the_expiry_of_its_task_and_an_id_of_both() -> None:
    ports = world()
    route(ports, BODY, expires=30.0)
    (command,) = commands(ports)
    assert (command.task_id, command.expires) == (derived_id("e", "only"), ports.clock.now() + 30.0)
    other = world()
    route(other, BODY)
    assert [one.expires for one in commands(other)] == [None]


def by_shop(args: Sequence[Any], kwargs: Any) -> Any:
    """The tenant of a call."""
    return kwargs["shop"]


@pytest.mark.parametrize(
    ("fields", "tenant", "is_told"), [({"shop": "own"}, "own", False), ({"shop": ""}, "sender", False), ({}, "sender", True)]
)
def test_a_command_belongs_to_the_tenant_in_its_event_or_else_to_that_of_the_event(
    fields: dict[str, str], tenant: str, is_told: bool
) -> None:
    ports = world()
    route(ports, codec.encode(SOLD._replace(data=fields, tenant="sender")), tenant=by_shop)
    assert [one.tenant for one in commands(ports)] == [tenant]
    telemetry: Any = ports.telemetry
    told = [(line.level, line.message, dict(line.fields)) for line in telemetry.lines]
    why = {"task": "only", "error": "tenant: KeyError: 'shop'"}
    assert told == [("warning", "the tenant of a subscriber is not in the event", why)] * is_told


def test_an_event_on_which_an_adapter_failed_is_delivered_again_until_its_fourth_receipt() -> None:
    for receives, again in ((3, ["0"]), (4, [])):
        ports = refusing(MessageRefused(refusals.UNEXPECTED, "aws/x.py:1", "a page of HTML"))
        assert [one.message_id for one in route(ports, BODY, receives=receives)] == again
        assert len(parked(ports)) == 1 - len(again)
