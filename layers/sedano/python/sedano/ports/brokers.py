"""Queues over several brokers, in order of preference: a message that one broker does not accept goes to the next one.

    app ──> Brokers ──> home        circuit closed: every message
                   └──> eu-west-1   only what home did not accept, or was not asked to

A *broker* is a name and an implementation of `sedano.ports.Queues`, so every queue that passes its conformance suite can be one. Each has
a circuit (`sedano.model.connection_breaker`): a send that it accepts nothing of opens the circuit, and the next ones go to the next broker
without a call. After a pause (1 s, doubled up to 30 s) one send is the probe; if it is accepted, the broker is in use again. While the
circuit is closed, the traffic itself is the probe, so a well broker gets no other calls. A throttled send opens no circuit.

The last broker of a queue is always called, whatever its circuit, because no other could take the message: its caller repeats the call.

A send whose answer was lost may have been accepted. The message goes to the next broker under the same id, and since all workers share one
ledger, the claim of the copy is refused.

A FIFO queue has one broker, the home, because order exists only within one queue. So have the queues of events, records and parked
messages, which functions of the stage read.

A message that was received from another broker than the home has the broker's name before its receipt, so it is deleted and held there.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

from sedano.errors import ConfigurationError, NotCalled, SedanoError, Throttled, Unavailable, UnknownQueue
from sedano.model.brokers import HOME
from sedano.model.connection_breaker import Connection, admitted, answered, unanswered
from sedano.model.queues import COMMANDS, is_fifo
from sedano.ports import EVENTS, Clock, Delivery, Outgoing, Queues, Telemetry, command_queue, deadlines

SHARE_S = 5.0
"""The most seconds of a send to a broker that is not the last one."""
POLL_S = 1.0
"""The seconds of one poll of a broker in a `receive` that polls several."""
_AT, _FROM = "@", " "
"""The separators between a key and the broker to receive from, and between a broker and a receipt."""


class Broker(NamedTuple):
    """The *queues* of one broker, and its *name* in logs; *keys*: the keys of the queues that it takes (None: all); *chosen*: whether the
    app names them, so it expects no others."""

    name: str
    queues: Queues
    keys: frozenset[str] | None = None
    chosen: bool = True

    def takes(self, key: str) -> bool:
        """Return whether it takes messages of the queue *key*."""
        return self.keys is None or key in self.keys


class Brokers:
    """The queues of one deployment over several brokers. Thread-safe.

    Args:
        brokers: the brokers, the preferred one first; the one called `HOME` is in the stage's own Region.
        clock: measures the pauses of the circuits.
        telemetry: counts messages that went to another broker than the preferred one (`MessagesFailedOver`), and logs each change, and each
            queue that only the home takes although a broker without names of queues takes all.
        home: the queues for what only the home takes; by default those of the broker `HOME`.
        seconds: the most for one `send` over several brokers, also where the caller has no deadline; None: no limit of its own.

    Raises:
        ConfigurationError: no broker is called `HOME`.
    """

    def __init__(
        self, brokers: Sequence[Broker], clock: Clock, telemetry: Telemetry, home: Queues | None = None, seconds: float | None = None
    ) -> None:  # fmt: skip
        """Use *brokers*; no call is made yet."""
        self._by_name = {broker.name: broker for broker in brokers}
        if HOME not in self._by_name:
            raise ConfigurationError(f"brokers: none of {', '.join(self._by_name) or 'no brokers'} is called {HOME!r}; give one this name")
        self._clock, self._telemetry, self._seconds = clock, telemetry, seconds
        self._home = home or self._by_name[HOME].queues
        self._circuits = {name: Connection() for name in self._by_name}
        self._reported: set[str] = set()
        self._warned: set[str] = set()
        self._lock = threading.Lock()
        self.bounds = self._home.bounds

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Send all, each to the first broker that accepts it; answer None for each that was accepted."""
        order = self._order(queue)
        if not order:
            self._warn(queue)
            return self._home.send(queue, messages)
        if not messages:
            return order[0].queues.send(queue, messages)
        if self._seconds is None:
            return self._send_in_turn(order, queue, messages)
        with deadlines.within(self._seconds, self._clock.monotonic()):
            return self._send_in_turn(order, queue, messages)

    def _send_in_turn(self, order: Sequence[Broker], queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Send to the brokers in this *order*, to each what the earlier ones did not accept."""
        answers: list[SedanoError | None] = [None] * len(messages)
        left = list(range(len(messages)))
        for place, broker in enumerate(order):
            some = self._send_to(broker, queue, [messages[position] for position in left], len(order) - place)
            self._note(broker, queue, place, left, some, answers)
            left = [position for position, answer in zip(left, some, strict=True) if _moves_on(answer, broker, place)]
            if not left:
                break
        return answers

    def receive(self, queue: str, most: int = 10, wait: float = 0.0) -> list[Delivery]:
        """Return up to *most* messages: of the broker that *queue* names (see `sources`), else of the first one that has any; they are
        polled one after the other.
        """
        key, _, name = queue.partition(_AT)
        if name:
            return self._receive(name, key, most, wait)
        names = [broker.name for broker in self._order(key)] or [HOME]
        if len(names) == 1:
            return self._receive(names[0], key, most, wait)
        until = self._clock.monotonic() + wait
        while True:
            left = until - self._clock.monotonic()
            for name in names:
                if found := self._receive(name, key, most, max(0.0, min(POLL_S, until - self._clock.monotonic()))):
                    return found
            if left <= POLL_S:
                return []

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """Acknowledge these messages of one queue, each at its broker.

        Raises:
            Unavailable: some were not acknowledged and will be delivered again, which does no harm.
        """
        away: Unavailable | None = None
        for name in dict.fromkeys(_origin(delivery) for delivery in deliveries):
            try:
                self._at(name).delete([_own(delivery) for delivery in deliveries if _origin(delivery) == name])
            except Unavailable as error:
                away = error
        if away is not None:
            raise away

    def hold(self, delivery: Delivery, seconds: float) -> None:
        """Make a received message invisible at its broker for *seconds* from now."""
        self._at(_origin(delivery)).hold(_own(delivery), seconds)

    def sources(self, key: str) -> list[str]:
        """Return the keys by which the messages of the queue *key* are received, one for each broker that takes them."""
        names = [broker.name for broker in self._order(key)] or [HOME]
        return [key if name == HOME else f"{key}{_AT}{name}" for name in names]

    def _order(self, key: str) -> list[Broker]:
        """Return the brokers of the queue *key*, the preferred one first; none: only the home takes it."""
        if is_fifo(key) or not key.startswith(COMMANDS):
            return []
        found = [broker for broker in self._by_name.values() if broker.takes(key)]
        return [] if [broker.name for broker in found] == [HOME] else found

    def _at(self, name: str) -> Queues:
        return self._home if name == HOME else self._by_name[name].queues

    def _receive(self, name: str, key: str, most: int, wait: float) -> list[Delivery]:
        found = self._at(name).receive(key, most, wait)
        return found if name == HOME else [delivery._replace(receipt=f"{name}{_FROM}{delivery.receipt}") for delivery in found]

    def _send_to(self, broker: Broker, queue: str, messages: Sequence[Outgoing], brokers: int) -> Sequence[SedanoError | None]:
        """Send *messages* to *broker*, the first of the remaining *brokers*, if its circuit lets them pass, or it is the last."""
        now = self._clock.monotonic()
        left = deadlines.left(now)
        seconds = SHARE_S if left is None else left / brokers
        if seconds <= 0:
            return [Unavailable(f"the broker {broker.name} was not called before the deadline")] * len(messages)
        if brokers == 1:
            return _answers_of(broker, queue, messages)
        with self._lock:
            goes, self._circuits[broker.name] = admitted(self._circuits[broker.name], now, seconds)
            term = self._circuits[broker.name].term
        if not goes:
            return [NotCalled(f"the broker {broker.name} accepted nothing recently and is not called for a while")] * len(messages)
        with deadlines.within(seconds, now):
            answers = _answers_of(broker, queue, messages)
        self._judge(broker, term, answers)
        return answers

    def _judge(self, broker: Broker, term: int, answers: Sequence[SedanoError | None]) -> None:
        """Open the circuit of *broker* if it accepted nothing of what could be accepted, close it if it accepted something; else only end
        the probe: an error that says nothing about the broker, or for which no call was made, leaves the circuit as it is.
        """
        failed = [one for one in answers if isinstance(one, Unavailable) and not isinstance(one, NotCalled | Throttled)]
        with self._lock:
            before = after = self._circuits[broker.name]
            if any(answer is None for answer in answers):
                after = answered(before, term)
            elif failed:
                after = unanswered(before, term, self._clock.monotonic())
            elif before.term == term:
                after = before._replace(probe=0.0)
            self._circuits[broker.name] = after
        if after.trips and not before.trips:
            self._telemetry.log("warning", "a broker accepts nothing: its circuit is open", broker=broker.name, error=str(failed[0]))
        elif before.trips and not after.trips:
            self._telemetry.log("info", "a broker accepts messages again", broker=broker.name)

    def _note(
        self, broker: Broker, queue: str, place: int, positions: Sequence[int], some: Sequence[SedanoError | None],
        answers: list[SedanoError | None],
    ) -> None:  # fmt: skip
        """Note the answers of *broker*. One that says nothing about the message (a fault of the broker's configuration, or that it was not
        called) does not replace that an earlier one was unavailable: the message must be stored, not refused.
        """
        for position, answer in zip(positions, some, strict=True):
            if isinstance(answer, ConfigurationError) and _is_optional(broker, place):
                self._report(broker, queue, answer)
            if not (isinstance(answers[position], Unavailable) and isinstance(answer, ConfigurationError | NotCalled)):
                answers[position] = answer
        accepted = sum(answer is None for answer in some)
        if place and accepted:
            self._telemetry.count("MessagesFailedOver", accepted)

    def _warn(self, queue: str) -> None:
        """Log, once for each queue, that a broker without names of queues does not take the messages of *queue*."""
        others = [one.name for one in self._by_name.values() if one.name != HOME and (one.keys is None or not one.chosen)]
        kind = "queue that keeps order" if is_fifo(queue) else "queue of events" if queue == EVENTS else ""
        if others and kind and queue not in self._warned:
            self._warned.add(queue)
            words = f"brokers: a {kind} is sent to the stage's own Region alone; name the queues that another broker takes: sqs('mail', …)"
            self._telemetry.log("warning", words, queue=queue, brokers=", ".join(others))

    def _report(self, broker: Broker, queue: str, error: SedanoError) -> None:
        """Log, once for each broker, that it cannot be used."""
        if broker.name not in self._reported:
            self._reported.add(broker.name)
            self._telemetry.log("error", "a broker cannot be used", broker=broker.name, queue=queue, error=str(error))


def sources(queues: Queues, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return, for each broker of each command queue in *names*, the queue's key and the key by which its messages are received there."""
    keys = [command_queue(name) for name in names]
    return [(key, source) for key in keys for source in (queues.sources(key) if isinstance(queues, Brokers) else (key,))]


def _answers_of(broker: Broker, queue: str, messages: Sequence[Outgoing]) -> Sequence[SedanoError | None]:
    """Send *messages* to *broker*, and return its answers, or its error as the answer for each of them."""
    try:
        return broker.queues.send(queue, messages)
    except UnknownQueue:
        raise
    except SedanoError as error:
        return [error] * len(messages)


def _moves_on(answer: SedanoError | None, broker: Broker, place: int) -> bool:
    """Return whether a message with this *answer* of *broker*, at *place* in the order, goes to the next one."""
    return isinstance(answer, Unavailable) or (isinstance(answer, ConfigurationError) and _is_optional(broker, place))


def _is_optional(broker: Broker, place: int) -> bool:
    """Return whether messages do without *broker*, at *place* in the order, if its configuration is wrong: all but a preferred home."""
    return place > 0 or broker.name != HOME


def _origin(delivery: Delivery) -> str:
    """Return the name of the broker that *delivery* was received from."""
    return delivery.receipt.partition(_FROM)[0] if _FROM in delivery.receipt else HOME


def _own(delivery: Delivery) -> Delivery:
    """Return *delivery* as its broker knows it."""
    return delivery._replace(receipt=delivery.receipt.rpartition(_FROM)[2])
