"""Inline links of a chain: those that run in the invocation of the link before. The rule is pure (`sedano.model.inline_links`).

The follow step keeps the next link here instead of sending it, and the pipeline takes it from here as a delivery without a receipt. It
passes intake, the gates, claim, run, record and follow as a received message does, in a batch of its own. If it does not end there, its
message is sent; if it cannot be sent, the carrier is delivered again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from sedano.engine.batch import Batch, Job
from sedano.engine.cluster.membership import InboxDoor
from sedano.engine.drafts import Addressed
from sedano.engine.history.invocation_costs import Invocations
from sedano.engine.publisher.sender import Publisher
from sedano.engine.registry import Registry
from sedano.engine.unexpected_errors import passing, unexpected
from sedano.engine.worker.settings import WorkerSettings
from sedano.errors import SedanoError
from sedano.model.inline_links import TELL_S, NextLink, inline_id, why_sent
from sedano.model.ledger.recent_ids import Window
from sedano.model.messages import codec
from sedano.model.messages.message import Command, TimeLimits
from sedano.model.tasks.task_spec import BUILT_IN, TaskSpec
from sedano.ports import Delivery, Ports

NO_LIMITS = TimeLimits()


class KeptLink(NamedTuple):
    """A link that is to run inline: as a *delivery* without a receipt, and as the *message* to send if it does not end here."""

    delivery: Delivery
    message: Addressed


def _never() -> bool:
    return False


def _unnoticed() -> None:
    pass


@dataclass(slots=True)
class InlineLinks:
    """Decides which links of one worker run inline. *window*: the receiver's; *draining*: set when no more bodies are started;
    *invocations* sends the history, *commands* counts tasks that ended.

    Its host sets *rests*, which returns whether no further link may begin now, and *follows*, which is called when a task has ended and
    another one follows it inline.
    """

    registry: Registry
    ports: Ports
    settings: WorkerSettings
    window: Window
    publisher: Publisher
    draining: threading.Event
    invocations: Invocations
    commands: InboxDoor
    rests: Callable[[], bool] = _never
    follows: Callable[[], None] = _unnoticed

    def of(self, deliveries: Sequence[Delivery], deadline: float) -> InlineCarrier | None:
        """Return the carrier of the links that may follow *deliveries* inline; None if they are several, or inline links are off."""
        if len(deliveries) != 1 or not self.settings.inline_links:
            return None
        (carrier,) = deliveries
        return InlineCarrier(self, carrier, deadline)

    def send(self, message: Addressed) -> SedanoError | None:
        """Send a link that does not run inline; return why its queue did not take it."""
        try:
            (answer,) = self.publisher.publish_all([message])
        except Exception as error:  # noqa: BLE001 - the last resort
            return unexpected(self.ports.telemetry, error)
        return answer

    def tell(self, batch: Batch) -> None:
        """Send what *batch* has noted so far, so that it is seen while its chain goes on; the line of the invocation follows at its end."""
        telemetry, told = self.ports.telemetry, batch.chronicle
        for (metric, task), value in batch.counts.items():
            telemetry.count(metric, value, task=task)
        batch.counts.clear()
        self.invocations.send(told)
        told.rows.clear()
        told.lines.clear()
        telemetry.flush()


class InlineCarrier:
    """One received message and the links that follow it inline. *finished*: the ids of the messages that ended, the carrier's first."""

    __slots__ = ("_began", "_deadline", "_delivery", "_links", "_next", "_site", "_told", "finished")

    def __init__(self, site: InlineLinks, delivery: Delivery, deadline: float) -> None:
        """Begin with *delivery*, in an invocation that ends at *deadline* (epoch s)."""
        self._site, self._delivery, self._deadline = site, delivery, deadline
        self._began = self._told = site.ports.clock.now()
        self._links = 0
        self._next: KeptLink | None = None
        self.finished: list[str] = []

    def keep(self, job: Job, messages: Sequence[Addressed]) -> bool:
        """Keep the only follow-up in *messages* of *job*, which succeeded, to run inline; return whether it was kept."""
        if len(messages) != 1:
            return False
        (message,) = messages
        command = codec.decode(message.outgoing.body)
        task = self._site.registry.tasks.get(command.task) if type(command) is Command else None
        if type(command) is not Command or task is None or job.command.task in BUILT_IN:
            return False
        now = self._site.ports.clock.now()
        if why_sent(self._facts(job, command, task, message, now), now):
            return False
        own = inline_id(command)
        self._next = KeptLink(Delivery(message.queue, own, "", codec.encode(command._replace(id=own)), sent=now), message)
        return True

    def run(self, batch: Batch, take: Callable[[Sequence[Delivery], Batch], None]) -> None:
        """Run the kept link, and each that is kept meanwhile, by *take*; *batch*: the carrier's, which may be given back."""
        while self._next is not None:
            link, self._next = self._next, None
            self._links += 1
            self._site.follows()
            self._tell(batch)
            batch.deadline = self._ends_at(self._site.ports.clock.now())
            one = Batch(batch.deadline, batch.chronicle, counts=batch.counts, carrier=self)
            take([link.delivery], one)
            if not one.is_decided(link.delivery):
                self._site.commands.worked += 1
            elif one.given_back and (why := self._site.send(link.message)) is not None:
                self._site.ports.telemetry.log("warning", "a link was not sent; its carrier is redelivered", error=str(why))
                batch.give_back(self._delivery)
        if not batch.is_decided(self._delivery):
            for message_id in self.finished:
                self._site.window.add(message_id)

    def _tell(self, batch: Batch) -> None:
        """Send the rows and counts of what has ended, if the last ones were sent a while ago."""
        now = self._site.ports.clock.now()
        if now - self._told >= TELL_S:
            self._told = now
            passing(self._site.ports.telemetry, "tell", partial(self._site.tell, batch), None)

    def _ends_at(self, now: float) -> float:
        """Return when a link that begins *now* must have ended: with the invocation, or where claims are extended, after as long a time as
        the carrier had."""
        return self._deadline if self._site.settings.visibility is None else now + self._deadline - self._began

    def _facts(self, job: Job, command: Command, task: TaskSpec, message: Addressed, now: float) -> NextLink:
        limits = command.time_limits
        limits = limits.over(task.time_limits) if limits is not None else task.time_limits
        return NextLink(
            receives=self._delivery.receives, links=self._links, same_queue=message.queue == self._delivery.queue,
            delayed=bool(message.outgoing.delay),
            claimed=job.mode == "claimed" and task.mode(command) == "claimed", limit=(limits or NO_LIMITS).longest,
            whole=self._deadline - self._began, deadline=self._ends_at(now), guard=self._site.settings.guard, began=self._began,
            stops=self._site.draining.is_set() or self._site.rests(),
        )  # fmt: skip
