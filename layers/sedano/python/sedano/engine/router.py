"""The router: a domain event becomes one command for each subscribed task.

The commands' ids are derived from the event's id and the task's name, so a redelivered event publishes the same commands again and their
claims absorb them: no state, no write. The cost of invocations is reported ten at a time or once a minute, parked messages at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sedano.engine.batch import Batch
from sedano.engine.deferrals import hide
from sedano.engine.drafts import Addressed, CommandDraft, Composer
from sedano.engine.history.invocation_costs import ROUTER, Invocations
from sedano.engine.lineage_marks import granted
from sedano.engine.parked.parking import ParkingLot
from sedano.engine.publisher.sender import Publisher
from sedano.engine.redelivery import refuse, unknown
from sedano.engine.registry import Registry, TaskSpec
from sedano.engine.unexpected_errors import answers_of, is_early, passing, unexpected
from sedano.engine.worker_events import Chronicle, Host
from sedano.errors import ArgumentError, BudgetExhausted, HopLimit, MessageRefused, SedanoError, Unserialisable
from sedano.model import refusals
from sedano.model.messages import codec
from sedano.model.messages.lamport import ClockAhead, LamportClock
from sedano.model.messages.lineage import derived_id, descend
from sedano.model.messages.message import Command, Event
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
        event = codec.decode(delivery.body)
        if type(event) is not Event:
            raise MessageRefused(refusals.SCHEMA, "type", "the event queue takes events only")
        subscribed = self.registry.subscriptions.get(event.name)
        if subscribed is None:
            raise MessageRefused(refusals.UNKNOWN_EVENT, "subject", unknown("event", event.name, self.registry.subscriptions))
        try:
            self.lamport.adjust(event.clock)
            own = granted(self.ports, event.lineage, event.id, event.name)
            lineage = descend(event.id, own, len(subscribed))
            return [self._composer.compose(self._draft(event, name), lineage) for name in subscribed]
        except ClockAhead as ahead:
            raise MessageRefused(refusals.CLOCK_AHEAD, "clock", str(ahead)) from None
        except HopLimit as deep:
            raise MessageRefused(refusals.HOPS, "hops", str(deep)) from None
        except BudgetExhausted as spent:
            raise MessageRefused(refusals.BUDGET, "budget", str(spent)) from None
        except Unserialisable as deep:  # an event's fields lie one level deeper in a command
            raise MessageRefused(refusals.TOO_DEEP, "data", str(deep)) from None

    def _draft(self, event: Event, name: str) -> CommandDraft:
        spec = self.registry.tasks[name]
        data = event.data
        if event.data_ref is not None:
            data = codec.decode_event_data(self.ports.blobs.get(event.data_ref))
        expires = self.ports.clock.now() + spec.expires if spec.expires is not None else None
        return CommandDraft(spec.queue, Command(
            id="", task_id=derived_id(event.id, name), task=name, kwargs=data, expires=expires,
            tenant=self._tenant(spec, data) or event.tenant, traceparent=event.traceparent, stamps=event.stamps,
            tracestate=event.tracestate,
        ))  # fmt: skip

    def _tenant(self, spec: TaskSpec, data: Mapping[str, Any]) -> str | None:
        """Return the tenant of the call, if the event's fields have it; a call must not be lost if they do not."""
        try:
            return spec.tenant_of((), data)
        except ArgumentError as lacking:
            self.ports.telemetry.log("warning", "the tenant of a subscriber is not in the event", task=spec.name, error=str(lacking))
            return None

    def _unsent(self, delivery: Delivery, error: SedanoError, batch: Batch) -> None:
        if isinstance(error, MessageRefused) and not is_early(error, delivery):
            batch.park(delivery, error.code, error.field, error.detail)
            return
        self.ports.telemetry.log("warning", "event not routed; it is delivered again", message_id=delivery.message_id, error=str(error))
        batch.defer(delivery)
