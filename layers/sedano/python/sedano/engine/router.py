"""The router: a domain event becomes one command for each subscribed task, and a document one for each of its sinks and subscribers.

The commands' ids are derived from the event's id and the task's name, so a redelivered event publishes the same commands again and their
claims absorb them: no state, no write. The cost of invocations is reported ten at a time or once a minute, parked messages at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sedano.engine.batch import Arguments, Batch
from sedano.engine.deferrals import hide
from sedano.engine.drafts import Addressed, CommandDraft, Composer
from sedano.engine.history.invocation_costs import ROUTER, Invocations
from sedano.engine.lineage_marks import granted
from sedano.engine.parked.parking import ParkingLot
from sedano.engine.publisher.sender import Publisher
from sedano.engine.redelivery import refuse, unknown
from sedano.engine.registry import Registry
from sedano.engine.unexpected_errors import answers_of, is_early, passing, unexpected
from sedano.errors import ArgumentError, BudgetExhausted, HopLimit, MessageRefused, SedanoError, Unserialisable
from sedano.model import refusals, states
from sedano.model.history.run_rows import Chronicle, Host
from sedano.model.messages import codec
from sedano.model.messages.lamport import ClockAhead, LamportClock
from sedano.model.messages.lineage import derived_id, descend
from sedano.model.messages.message import Command, Document, Event
from sedano.model.sinks.content import content_of
from sedano.model.tasks.task_spec import TaskSpec
from sedano.ports import Delivery, Ports

TOLD_EVERY_S = 60.0
"""The cost of invocations is reported together so often, or ten at a time: a record of each would cost more than the invocation."""


class Router:
    """Routes events. One per process."""

    def __init__(self, registry: Registry, ports: Ports, host: Host) -> None:
        """Route to the subscriptions of *registry* over *ports*."""
        self.registry, self.ports, self.host = registry, ports, host
        self.lamport = LamportClock(lambda: int(ports.clock.now() * 1_000_000))
        self._composer = Composer(host.hostname, self.lamport, ports)
        self._publisher = Publisher(ports.queues, ports.timers, ports.clock, ports.entropy, ports.telemetry)
        self._parking = ParkingLot(ports, self.lamport)
        self._invocations = Invocations(ROUTER, ports, host, self.lamport, TOLD_EVERY_S)

    def route(self, deliveries: Sequence[Delivery], deadline: float) -> list[Delivery]:
        """Publish the commands of each event and return the deliveries to deliver again."""
        self._invocations.begin()
        batch = Batch(deadline, Chronicle(self.host))
        messages: list[Addressed] = []
        owners: list[Delivery] = []
        for delivery in deliveries:
            try:
                commands = self._commands(delivery)
            except MessageRefused as refused:
                refuse(self.ports, delivery, refused, batch)
                continue
            except Exception as error:  # noqa: BLE001 - the last resort
                self._unsent(delivery, unexpected(self.ports.telemetry, error), batch)
                continue
            messages += commands
            owners += [delivery] * len(commands)
        answers = answers_of(self.ports.telemetry, self._publisher.publish_all, messages)
        failed = {id(d): (d, answer) for d, answer in zip(owners, answers, strict=True) if answer is not None}
        for delivery, answer in failed.values():
            self._unsent(delivery, answer, batch)
        passing(self.ports.telemetry, "park", partial(self._parking.settle, batch), None)
        passing(self.ports.telemetry, "hide", partial(hide, self.ports, batch), None)
        passing(self.ports.telemetry, "tell", partial(self._tell, batch, len(deliveries)), None)
        return batch.given_back

    def _tell(self, batch: Batch, messages: int) -> None:
        self._invocations.tell(batch.chronicle, messages, len(batch.given_back))
        self.ports.telemetry.flush()

    def _commands(self, delivery: Delivery) -> list[Addressed]:
        message = codec.decode(delivery.body)
        if isinstance(message, Command):
            raise MessageRefused(refusals.SCHEMA, "type", "the event queue takes events and documents, no commands")
        kind, name, known = self._known(message)
        subscribed = known.get(name)
        if subscribed is None:
            raise MessageRefused(refusals.UNKNOWN_EVENT, "subject", unknown(kind, name, known))
        try:
            self.lamport.adjust(message.clock)
            own = granted(self.ports, message.lineage, message.id, name)
            lineage = descend(message.id, own, len(subscribed))
            args, kwargs = self._call(message, delivery.sent)
            return [self._composer.compose(self._draft(message, task, args, kwargs), lineage) for task in subscribed]
        except ClockAhead as ahead:
            raise MessageRefused(refusals.CLOCK_AHEAD, "clock", str(ahead)) from None
        except HopLimit as deep:
            raise MessageRefused(refusals.HOPS, "hops", str(deep)) from None
        except BudgetExhausted as spent:
            raise MessageRefused(refusals.BUDGET, "budget", str(spent)) from None
        except Unserialisable as deep:  # an event's fields lie one level deeper in a command
            raise MessageRefused(refusals.TOO_DEEP, "data", str(deep)) from None

    def _known(self, message: Event | Document) -> tuple[str, str, Mapping[str, Sequence[str]]]:
        """Return what *message* is, its name, and the subscribed tasks by the names of its kind."""
        if isinstance(message, Event):
            return "event", message.name, self.registry.subscriptions
        return "document", message.task, self.registry.documents

    def _call(self, message: Event | Document, sent: float) -> Arguments:
        """Return the arguments of the call: the fields of an event by name, or the content of a document.

        The time of a document from another program, which may have none, is that at which it was *sent* (epoch s).
        """
        ref = message.data_ref
        if isinstance(message, Event):
            return (), message.data if ref is None else codec.decode_event_data(self.ports.blobs.get(ref))
        if message.state != states.SUCCESS:
            raise MessageRefused(refusals.SCHEMA, "state", f"{message.state}: only a document with a value has sinks")
        if ref is not None:
            message = message._replace(value=codec.decode_document_data(self.ports.blobs.get(ref)))
        return (content_of(message if message.time else message._replace(time=sent)),), {}

    def _draft(self, message: Event | Document, task: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> CommandDraft:
        spec = self.registry.tasks[task]
        expires = self.ports.clock.now() + spec.expires if spec.expires is not None else None
        return CommandDraft(spec.queue, Command(
            id="", task_id=derived_id(message.id, task), task=task, args=args, kwargs=kwargs, expires=expires,
            tenant=self._tenant(spec, args, kwargs) or message.tenant, traceparent=message.traceparent, stamps=message.stamps,
            tracestate=message.tracestate,
        ))  # fmt: skip

    def _tenant(self, spec: TaskSpec, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
        """Return the tenant of the call, if its arguments have it; a call must not be lost if they do not."""
        try:
            return spec.tenant_of(args, kwargs)
        except ArgumentError as lacking:
            self.ports.telemetry.log("warning", "the tenant of a subscriber is not in the event", task=spec.name, error=str(lacking))
            return None

    def _unsent(self, delivery: Delivery, error: SedanoError, batch: Batch) -> None:
        if isinstance(error, MessageRefused) and not is_early(error, delivery):
            batch.park(delivery, error.code, error.field, error.detail)
            return
        self.ports.telemetry.log("warning", "event not routed; it is delivered again", message_id=delivery.message_id, error=str(error))
        batch.defer(delivery)
