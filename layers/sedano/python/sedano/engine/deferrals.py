"""Deferrals: messages that wait are sent again with a delay, ten per call, and the received ones are acknowledged
(`sedano.model.deferrals`).

A crash between the two leaves two copies of one message, with one id, which their claim absorbs. A message of a queue that keeps order
would lose its place, so it is hidden instead and stays in flight: SQS counts one message in flight for each key that waits, so at most
120 000 keys of a FIFO queue wait at once. A message that the queue does not accept again is hidden too, for longer each time, and so is one
whose queue cannot delay messages.
"""

from __future__ import annotations

from collections.abc import Sequence

from sedano.engine.batch import Batch, Deferral
from sedano.engine.worker.redelivery_credit import Spared
from sedano.errors import MessageRefused, SedanoError
from sedano.model import refusals
from sedano.model.deferrals import HIDDEN_MOST_S, KEPT, WAITED, Waited, hidden, patience, waited, written
from sedano.model.messages import codec
from sedano.model.messages.lamport import LamportClock
from sedano.ports import Delivery, Outgoing, Ports

DAY_S = 86_400.0
LONGER_S = 3.0
"""How much longer what keeps its place is hidden each time at least: so it is received fewer than 900 times in 13 days, and SQS counts to
a thousand."""
ANEW_AFTER = 4
"""Receipts after which what is hidden, because its queue can delay no message, is sent anew: fewer than end a task without a claim."""
REASON_CHARACTERS = 300
HELD = "message-held"
"""The event in the history. It is about the message, because the task may have begun or ended before its follow-ups could not be sent."""


def settle(ports: Ports, lamport: LamportClock, spared: Spared, batch: Batch) -> None:
    """Send the deferred messages of *batch* again; a sent message is not given back."""
    deferred, batch.deferred = batch.deferred, {}
    back = {delivery.message_id for delivery in batch.given_back}
    by_queue: dict[str, list[Deferral]] = {}
    for one in deferred.values():
        if one.delivery.message_id not in back:
            continue
        if stale(ports, one.delivery, batch):
            batch.given_back[:] = [delivery for delivery in batch.given_back if delivery.message_id != one.delivery.message_id]
            continue
        _tell(ports, lamport, one, batch)
        if _is_hidden(ports, one):
            _hide(ports, one.delivery, one.seconds if one.seconds is not None else _outlasting(ports, one))
        elif one.delivery.serial_key is None:
            by_queue.setdefault(one.delivery.queue, []).append(one)
        else:
            _hide(ports, one.delivery, max(_seconds(ports, one), LONGER_S * one.delivery.receives))
    for queue, some in by_queue.items():
        _send(ports, spared, queue, some, batch)


def hide(ports: Ports, batch: Batch) -> None:
    """Hide what *batch* deferred, twice as long at each receipt: for the router and the recorder, which send nothing to their own queues.

    A message that is sent to the queue that it came from is a loop to Lambda, and their roles do not allow it. The 25 receipts
    after which a queue sets a message aside outlast five days, and no wait is longer than the outage was.
    """
    deferred, batch.deferred = batch.deferred, {}
    for one in deferred.values():
        seconds = patience(one.delivery.receives - 1, most=HIDDEN_MOST_S) * (1 - ports.entropy.unit() / 4)
        _hide(ports, one.delivery, seconds)


def stale(ports: Ports, delivery: Delivery, batch: Batch) -> bool:
    """Park *delivery* and return True if it waited in a queue that keeps order for nearly as long as SQS keeps messages."""
    if delivery.serial_key is None:
        return False
    from sedano.model.order import KEPT_S

    age = ports.clock.now() - delivery.sent
    if age <= KEPT_S:
        return False
    detail = f"it waited for {age / DAY_S:.0f} days in a queue that keeps order; SQS forgets it after 14"
    batch.park(delivery, refusals.STALE, "sent", detail)
    return True


def tenant_of(body: str) -> str | None:
    """Return the tenant of the message *body*, or None; a message that is sent again keeps its tenant."""
    try:
        return codec.decode(body).tenant
    except MessageRefused:
        return None


def _is_hidden(ports: Ports, one: Deferral) -> bool:
    """Return whether *one* is hidden because its queue can delay no message; it is sent anew before the queue counts too many receipts, and
    at once if it came from no queue."""
    if not one.delivery.receipt or ports.queues.bounds.max_delay or one.delivery.serial_key is not None:
        return False
    return one.delivery.receives < ANEW_AFTER and one.seconds != 0.0


def _outlasting(ports: Ports, one: Deferral) -> float:
    """Return for how long *one*, which cannot be sent again, is hidden."""
    return max(hidden(one.delivery.receives, ports.clock.now() - one.delivery.sent), _seconds(ports, one))


def _send(ports: Ports, spared: Spared, queue: str, some: Sequence[Deferral], batch: Batch) -> None:
    try:
        answers: Sequence[SedanoError | None] = ports.queues.send(queue, [_outgoing(ports, spared, one) for one in some])
    except SedanoError as away:
        answers = [away] * len(some)
    sent = set()
    for one, error in zip(some, answers, strict=True):
        if error is None:
            sent.add(one.delivery.message_id)
            continue
        ports.telemetry.log("warning", "waiting message not sent again", message_id=one.delivery.message_id, error=str(error))
        _hide(ports, one.delivery, _outlasting(ports, one))
    batch.given_back[:] = [delivery for delivery in batch.given_back if delivery.message_id not in sent]


def _outgoing(ports: Ports, spared: Spared, one: Deferral) -> Outgoing:
    delivery = one.delivery
    before = waited(delivery.attributes)
    times, runs = 1, max(0, delivery.receives - 1 - spared.count(delivery))
    if not ports.queues.bounds.max_delay:  # its earlier receipts were waits
        times, runs = delivery.receives, 0
    attributes = {name: value for name, value in delivery.attributes.items() if name.startswith(KEPT)}
    attributes[WAITED] = written(Waited(before.times + times, before.runs + runs + one.ran))
    delay = min(-int(-_seconds(ports, one) // 1), ports.queues.bounds.max_delay)
    return Outgoing(delivery.body, delay, tenant_of(delivery.body), attributes)


def _seconds(ports: Ports, one: Deferral) -> float:
    if one.seconds is not None:
        return max(0.0, one.seconds)
    delivery = one.delivery
    times = waited(delivery.attributes).times if delivery.serial_key is None else delivery.receives - 1
    return patience(times) * (1 - ports.entropy.unit() / 4)


def _hide(ports: Ports, delivery: Delivery, seconds: float) -> None:
    if not delivery.receipt:
        return
    try:
        ports.queues.hold(delivery, seconds)
    except SedanoError as error:
        ports.telemetry.log("warning", "message not held back; it is redelivered sooner", message_id=delivery.message_id, error=str(error))


def _tell(ports: Ports, lamport: LamportClock, one: Deferral, batch: Batch) -> None:
    """Note in the history that the task waits and why. Without a reason, this was done before, or the message was not read."""
    if not one.reason:
        return
    ports.telemetry.count("MessagesDeferred")
    if one.command is None:
        return
    now = ports.clock.now()
    batch.chronicle.line(
        HELD, lamport.forward(), now, uuid=one.command.task_id, name=one.command.task, reason=one.reason[:REASON_CHARACTERS],
        until=round(now + patience(waited(one.delivery.attributes).times), 3),
    )  # fmt: skip
