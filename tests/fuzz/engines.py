"""Targets: the whole worker, router, recorder, scheduler, webhook and stream engines, fed with batches in which hostile messages lie among
good ones (`tests.fuzz.neighbours`); and the parked queue, looked through and redriven.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sedano.engine.cluster.explanation import explain
from sedano.engine.parked.redrive import parked, planned, redrive
from sedano.errors import MessageRefused
from sedano.host.sources import answering, reading
from sedano.memory import MemorySecretTexts
from sedano.model import refusals
from sedano.model.messages import codec
from sedano.model.messages.message import TIMER_OPENING, Command, Document, Event
from sedano.model.schedules.agenda import Agenda, AgendaChanged, agenda_or_refusal
from sedano.model.sources.webhooks import ReceivedRequest
from sedano.model.timers import opened
from sedano.ports import EVENTS, PARKED, RECORDS, Delivery, Outgoing
from tests.fuzz import seeds, stall, words
from tests.fuzz.loop import Target
from tests.fuzz.neighbours import DEADLINE_S, MOST_HOSTILE, ROUNDS, hostile, judge, mixed, yard
from tests.fuzz.referee import Broken


def work(data: bytes) -> None:
    """Let the worker work off a mixed batch, then what it caused."""
    place = yard()
    world, before = place.world, sum(stall.RAN.values())
    numbers = world.queues._numbers
    found = mixed(data, seeds.COMMANDS, place.good)
    back = world.worker.work(found.batch, world.clock.now() + DEADLINE_S)
    judge(found, back, {which: stall.EFFECTS[which] for which in found.good})
    traces = sum(stall.RAN.values()) - before + world.queues._numbers - numbers
    given_back = {delivery.message_id for delivery in back}
    for delivery in found.hostile:
        if delivery.message_id not in given_back and not traces and not _left_a_trace(delivery):
            raise Broken(f"dropped without a trace: {delivery.body:.100}")
    for _ in range(ROUNDS):
        if not world.step():
            break
        world.clock.advance(5.0)
    place.settle()


def _left_a_trace(delivery: Delivery) -> bool:
    """Return whether a message that was acknowledged can be found again: parked, recorded, or counted as a duplicate."""
    world = yard().world
    if any(message.attributes.get("message_id") == delivery.message_id for message in world.queues.peek(PARKED)):
        return True
    message = _message(delivery.body)
    recorded = isinstance(message, Command) and bool(world.ports.ledger.read([message.task_id]))
    return recorded or world.telemetry.counted("Duplicates") > 0 or any(name.startswith("Tasks") for name, _ in world.telemetry._counts)


def _message(body: str) -> Any:
    """Return the message that *body* is, out of its timer's envelope; None when it is none."""
    try:
        return codec.decode(opened(body).body if body.startswith(TIMER_OPENING) else body)
    except MessageRefused:
        return None


def route(data: bytes) -> None:
    """Let the router route a mixed batch, and the worker work off what follows."""
    place = yard()
    world = place.world

    def body_of(number: int) -> tuple[str, str]:
        which = f"e{next(place.numbers)}"
        fields = {"item": which, "amount": 1, "tags": []}
        return which, json.dumps({"specversion": "1.0", "type": "sedano.event.v1", "id": which, "source": "good", "subject": _SOLD,
            "data": fields})

    found = mixed(data, EVENTS, body_of)
    back = world.router.route(found.batch, world.clock.now() + DEADLINE_S)
    sent = [message.body for message in world.queues.peek(seeds.COMMANDS)]
    judge(found, back, {which: sum(f'"{which}"' in body and '"on_sold"' in body for body in sent) for which in found.good})
    given_back = {delivery.message_id for delivery in back}
    parked_ids = {message.attributes.get("message_id") for message in world.queues.peek(PARKED)}
    for delivery in found.hostile:
        if delivery.message_id not in given_back | parked_ids and not isinstance(_message(delivery.body), Event | Document):
            raise Broken(f"dropped without a trace: {delivery.body:.100}")
    for _ in range(ROUNDS):
        world.step()
    place.settle()


_SOLD = next(name for name in stall.app.registry.subscriptions if name.endswith("Sold"))


def record(data: bytes) -> None:
    """Let the recorder record a mixed batch, and let a view read the history."""
    place = yard()
    world = place.world

    def body_of(number: int) -> tuple[str, str]:
        which = f"r{next(place.numbers)}"
        line = {"type": "worker-online", "clock": 1, "timestamp": world.clock.now(), "uuid": which}
        return which, json.dumps({"v": 1, "host": "h", "pid": 1, "rows": [], "lines": [line]})

    found = mixed(data, RECORDS, body_of)
    back = world.recorder.record(found.batch, world.clock.now() + DEADLINE_S)
    history = b"".join(world.ports.events.read())
    judge(found, back, {which: min(1, history.count(f'"{which}"'.encode())) for which in found.good})
    for line in history.splitlines():
        json.loads(line)
    world.ports.events._kept.clear()  # type: ignore[attr-defined] # the memory's own
    place.settle()


def redriven(data: bytes) -> None:
    """Let people look through a parked queue with hostile messages and one that the worker parked, and redrive: its own, then all."""
    place = yard()
    world = place.world
    which = f"p{next(place.numbers)}"
    body = json.dumps({"specversion": "1.0", "id": which})
    world.worker.work([Delivery(seeds.COMMANDS, which, "r", body)], world.clock.now() + DEADLINE_S)
    for one in hostile(data):
        world.queues.send(PARKED, [Outgoing(one.body, attributes=dict([*one.attributes.items()][:10]))])
    lying = len(world.queues.peek(PARKED))
    found = parked(world.ports, lambda one: not one.is_named("nothing"))
    if len(found) != lying:
        raise Broken(f"{len(found)} of {lying} parked messages are shown")
    answers = redrive(world.ports, planned(world.ports, found), place.taken_again, place.taken_again)
    gone = [one.delivery.body for one, answer in zip(found, answers, strict=True) if answer is None]
    if gone != [body] or [message.body for message in world.queues.peek(seeds.COMMANDS)] != [body]:
        raise Broken(f"of the messages of others {len(gone) - (body in gone)} were sent, of its own {gone.count(body)}")
    rest = parked(world.ports, lambda one: True)
    going = planned(world.ports, rest, stall.app.registry, foreign=True)
    if len(redrive(world.ports, going, place.taken_again, place.taken_again)) != lying - 1:
        raise Broken("a parked message had no answer")
    if place.again:
        raise Broken("a request or record that nobody let in was taken again")
    explain(world.ports, ("default",), which)
    place.settle()


def post(data: bytes) -> None:
    """Let the webhook engine answer a hostile request and a good one."""
    place = yard()
    hooks = answering(stall.app, MemorySecretTexts(dict.fromkeys(stall.app.webhooks, "whsec_c2VjcmV0")))
    which = f"w{next(place.numbers)}"
    answer = hooks.answer(_arrived(data))
    if "whsec" in answer.text:
        raise Broken("a secret is told")
    if not 200 <= answer.status < 600:
        raise Broken(f"a status that is none: {answer.status}")
    place.world.queues._queues[EVENTS].kept.clear()
    good = hooks.answer(ReceivedRequest("POST", "/open", {}, json.dumps({"sold": [{"item": which, "amount": 1}]}).encode()))
    events = place.world.queues.peek(EVENTS)
    if good.status != 202 or len(events) != 1 or f'"{which}"' not in events[0].body:
        raise Broken(f"a good request was answered {good.status} and made {len(events)} events")
    for _ in range(ROUNDS):
        place.world.step()
    place.settle()


def _arrived(data: bytes) -> ReceivedRequest:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = {}
    found = found if isinstance(found, dict) else {}
    headers = found.get("headers")
    headers = {str(name): value for name, value in headers.items() if isinstance(value, str)} if isinstance(headers, dict) else {}
    body = found.get("body", "")
    text = body if isinstance(body, str) else json.dumps(body)
    path, method, query = (str(found.get(name, usual)) for name, usual in (("path", "open"), ("method", "POST"), ("query", "")))
    return ReceivedRequest(method, f"/{path:.100}", headers, text.encode("utf-8", "surrogatepass"), query)


def stream(data: bytes) -> None:
    """Let the stream engine take a hostile record between good ones."""
    place = yard()
    world = place.world
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = {}
    bad = [one for one in (found if isinstance(found, list) else [found]) if isinstance(one, dict)][:MOST_HOSTILE]
    names = [f"s{next(place.numbers)}" for _ in range(2)]
    records = [_record(names[0]), *bad, _record(names[1])]
    engine = reading(stall.app)
    done = engine.take("orders", records, world.clock.now() + DEADLINE_S)
    calls, aside = [message.body for message in world.queues.peek(seeds.COMMANDS)], world.queues.peek(PARKED)
    if done != len(records):
        raise Broken(f"{done} of {len(records)} records are done with")
    if any(sum(f'"{name}"' in body for body in calls) != 1 for name in names):
        raise Broken("a good neighbour was not called once")
    if any(outgoing.attributes.get("reason") not in refusals.ALL for outgoing in aside):
        raise Broken("parked with a code that is not in the closed list")
    if len(calls) + len(aside) < len(records):
        raise Broken("a record was dropped without a trace")
    for _ in range(ROUNDS):
        world.step()
    place.settle()


def _record(name: str) -> dict[str, Any]:
    return {"eventID": name, "eventName": "INSERT", "dynamodb": {"Keys": {"id": {"S": name}}, "NewImage": {"id": {"S": name}},
        "SequenceNumber": "1"}}


def schedule(data: bytes) -> None:
    """Let the scheduler work off agendas of which one is hostile, and the worker what it publishes."""
    place = yard()
    world = place.world
    seen = world.ports.schedules.read()
    held = [one if not isinstance(one, Agenda) or one.number != 3 else agenda_or_refusal(3, data.decode("utf-8", "replace"),
        "n") for one in seen]
    store = _Agendas(held)
    scheduler = type(world.scheduler)(replace(world.ports, schedules=store), world.worker.lamport, "fuzz")
    done = scheduler.round(stall.app.periodics)
    if done.failed > 1:
        raise Broken(f"{done.failed} agendas failed beside the hostile one")
    for _ in range(ROUNDS):
        world.step()
    place.settle()


class _Agendas:
    """Agendas of which some cannot be read."""

    def __init__(self, held: list[Any]) -> None:
        self._held = held

    def read(self) -> list[Any]:
        return self._held

    def change(self, agenda: Any, seen: Any) -> Any:
        self._held[agenda.number] = agenda
        return AgendaChanged(True, agenda)


def every() -> list[Target]:
    """Return a target for each engine."""
    commands = seeds.small([*seeds.bodies(seeds.COMMANDS)], 70)
    worked = [_input(body) for body in commands] + [_input(a, b) for a, b in itertools.pairwise(commands[:12])] + _special(commands)
    events = [_input(body) for body in seeds.bodies(EVENTS)] + [_input(commands[0])]
    records = [_input(body) for body in (*seeds.small(seeds.bodies(RECORDS), 12), words.RECORD)]
    told = [_parked(message) for message in seeds.travelled().messages[PARKED]]
    posted = [json.dumps({"path": "open", "headers": {}, "body": {"sold": [{"item": "tea", "amount": 2}]}}).encode(),
        *map(_posted, words.SIGNED),
        *(json.dumps({"path": path, "method": "GET", "query": query}).encode() for path, query in words.CHALLENGED)]
    every_word = (*words.ATTRIBUTES, *words.PLANS, *words.TIMERS, "@0", "#0", "@0:#0", "body", "attributes", "receives", "sedano-slot",
        "sedano-quiet", "blob")
    made = partial(_target, lives=150)
    return [
        made("worker", work, worked, every_word, weight=30), made("router", route, events, words.ATTRIBUTES, weight=4),
        made("recorder", record, records, words.RECORDS, weight=3), made("parked", redriven, told, (*every_word, *_PARKED), weight=3),
        made("posted", post, posted, words.HEADERS, weight=3), made("streams", stream, [*words.STREAMED], words.STREAMS, weight=3),
        made("scheduler", schedule, [*words.agendas()], words.AGENDA, weight=2),
    ]  # fmt: skip


_PARKED = ("reason", "field", "detail", "queue", "message_id", "blob", "serial_key", "webhook:open", "stream:orders", "commands:default",
    "parked", "events", "-", "0" * 64 + " 5")


def _target(name: str, run: Callable[[bytes], None], good: Sequence[bytes], some: Sequence[str], *, weight: float, lives: int) -> Target:
    return Target(name, run, good, some, renew=lambda: yard().renew(), lives=lives, weight=weight, cost=6.0)


def _input(*some: bytes) -> bytes:
    return json.dumps([{"body": body.decode()} for body in some]).encode()


def _special(commands: Sequence[bytes]) -> list[bytes]:
    """Return inputs whose messages were received often, were sent anew with attributes, or have arguments and plans in the blob store."""
    first = json.loads(commands[0])
    referred = {**first, "id": "ref", "taskid": "ref", "dataref": "@0", "datasize": "#0"}
    body = json.dumps({name: value for name, value in referred.items() if name != "data"}).replace('"#0"', "#0")
    plans = [json.loads(one) for one in commands if b"canvasplan" in one][:3]
    paced = [one.decode() for one in commands if b'"subject":"paced"' in one or b'"subject":"quiet"' in one]
    found: list[Any] = [[{"blob": '{"args":[1,2]}'}, {"body": body}], [{"body": commands[0].decode(), "receives": 4}],
        [{"body": commands[0].decode(), "receives": 30}]]
    found += [[{"blob": plan["canvasplan"]}, {"body": json.dumps({**plan, "canvasplan": "@0:#0"})}] for plan in plans]
    found += [[{"body": one, "attributes": {"sedano-slot": "1767225600000000/0/10000x3",
        "sedano-quiet": "1767225600000000"}}] for one in paced]
    found += [[{"body": commands[0].decode(), "serial_key": "k"}]]
    return [json.dumps(one).encode() for one in found]


def _parked(message: Outgoing) -> bytes:
    return json.dumps([{"body": message.body, "attributes": dict(message.attributes)}]).encode()


def _posted(signed: bytes) -> bytes:
    return json.dumps({"path": "hmac", **json.loads(signed)}).encode()

