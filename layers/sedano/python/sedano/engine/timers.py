"""Delays that are too long for a queue: sent as timers, received early, and completed by the queue to the second.

A timer fires a minute and a half early, because EventBridge Scheduler keeps to the minute. Its message is an envelope around the command
(`sedano.model.timers`). A worker that receives it too early sends the command itself, with the remaining seconds as its delay, and
acknowledges the envelope; a crash in between leaves two copies, which their claim absorbs. Loaded only where there is a timer.

A deployment without timers waits in steps: the envelope goes to the queue itself with the queue's longest delay, and a worker that
receives it early sends it on. Only the engine's own delays do this, such as the pause before the next attempt of a task (at most a day); a
call with such a countdown is refused. In a queue that cannot delay messages the envelope is hidden instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from sedano.engine.batch import Batch
from sedano.engine.gate import Gate
from sedano.engine.redelivery import hold_back
from sedano.engine.unexpected_errors import contain
from sedano.errors import MessageRefused, SedanoError
from sedano.model import refusals
from sedano.model.messages import codec
from sedano.model.messages.message import TIMER_OPENING, Command
from sedano.model.tasks.signature import MAX_DELAY_S as LONGEST_S
from sedano.model.timers import Timer, opened, sealed, timer_name
from sedano.ports import Clock, Delivery, Outgoing, Ports, Queues, Timers
from sedano.ports.absent import has

DAY_S = 86_400.0
MOST_AHEAD_S = LONGEST_S + DAY_S
"""How far ahead the moment of a timer may be: the longest timer, and a day for clocks and queues."""


def send(queues: Queues, timers: Timers, clock: Clock, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
    """Send *messages* to *queue*, or as timers if the delay is too long for it, or in steps without timers; answer None for each that was
    accepted.
    """
    most = queues.bounds.max_delay
    if not has(timers):
        return queues.send(queue, [m if m.delay <= most else _step(clock, queue, m, most) for m in messages])
    soon = [message for message in messages if message.delay <= most]
    answers = iter(queues.send(queue, soon) if soon else ())
    return [next(answers) if message.delay <= most else _set(timers, clock, queue, message) for message in messages]


class Envelopes(Gate):
    """Opens the envelopes that timers send."""

    def __init__(self, ports: Ports) -> None:
        """Use the clock of *ports*."""
        self._ports = ports

    def sift(self, deliveries: Sequence[Delivery], batch: Batch) -> Sequence[Delivery]:
        """Return *deliveries* with each envelope that is due replaced by its command; one that is early is sent on and left out."""
        found: list[Delivery] = []
        for delivery in deliveries:
            if not delivery.body.startswith(TIMER_OPENING):
                found.append(delivery)
                continue
            try:
                found += _due(self._ports, delivery, batch)
            except MessageRefused as refused:
                batch.park(delivery, refused.code, refused.field, refused.detail)
            except Exception as error:  # noqa: BLE001 - the last resort
                contain(self._ports.telemetry, error, delivery, batch)
        return found


def _due(ports: Ports, delivery: Delivery, batch: Batch) -> list[Delivery]:
    """Return the command in the envelope *delivery* if it is due; else send it on and return nothing.

    Raises:
        MessageRefused: it is not an envelope of a timer, or its moment is further ahead than a timer can be set.
    """
    timer = opened(delivery.body)
    left = timer.at - ports.clock.now()
    if left > MOST_AHEAD_S:
        raise MessageRefused(refusals.SCHEMA, "timer.at", f"more than {MOST_AHEAD_S / DAY_S:.0f} days ahead; publish it later")
    body = _dated(timer)
    if left <= 0:
        return [delivery._replace(body=body)]
    if delivery.serial_key is not None or not ports.queues.bounds.max_delay:
        hold_back(ports, delivery, left, batch)
    elif not _sent_on(ports, delivery, Outgoing(body, -int(-left // 1), timer.tenant)):
        batch.give_back(delivery)
    return []


def _set(timers: Timers, clock: Clock, queue: str, message: Outgoing) -> SedanoError | None:
    """Set the timer of a message; a copy of an existing one changes nothing."""
    try:
        timers.set(_timer(clock, queue, message))
    except SedanoError as error:
        return error
    return None


def _step(clock: Clock, queue: str, message: Outgoing, most: int) -> Outgoing:
    """Return the envelope of *message*, delayed by the *most* that its queue can."""
    return Outgoing(sealed(_timer(clock, queue, message)), most, message.tenant)


def _timer(clock: Clock, queue: str, message: Outgoing) -> Timer:
    command = codec.decode(message.body)
    name = timer_name(command.task_id, command.attempt) if isinstance(command, Command) else timer_name(command.id, 0)
    return Timer(name, clock.now() + message.delay, queue, message.body, message.tenant)


def _dated(timer: Timer) -> str:
    """Return the command of *timer* as if published at its moment, so that records are kept from that moment on.

    Raises:
        MessageRefused: it is not a command.
    """
    command = codec.decode(timer.body)
    if not isinstance(command, Command):
        raise MessageRefused(refusals.SCHEMA, "timer.message", "a timer holds a command")
    return codec.encode(command._replace(time=timer.at))


def _sent_on(ports: Ports, early: Delivery, message: Outgoing) -> bool:
    """Send the command with the remaining delay, or the envelope again when a queue cannot hold it for so long; return whether it was
    sent."""
    most = ports.queues.bounds.max_delay
    if message.delay > most:
        message = Outgoing(early.body, most, message.tenant)
    try:
        (error,) = ports.queues.send(early.queue, [message])
    except SedanoError as away:
        error = away
    if error is not None:
        ports.telemetry.log("warning", "timer's message not sent on; it is delivered again", message_id=early.message_id, error=str(error))
    return error is None
