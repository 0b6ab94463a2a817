"""The publisher of a program: turns signatures into published messages, at once, in a batch, or in the outbox of the running task."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sedano.engine.canvas.chord_results import Gathering
from sedano.engine.drafts import Addressed, CommandDraft, Composer, Draft, weight_of
from sedano.engine.lineage_marks import require_grant
from sedano.engine.publisher.drafting import Drafting, inherited
from sedano.engine.publisher.sender import Publisher
from sedano.engine.registry import Registry
from sedano.engine.task_context import CURRENT, TaskContext, must_not_hold_up
from sedano.errors import BudgetExhausted, DuplicateTask, HopLimit, KeyReused, SedanoError, UnknownQueue
from sedano.model.ledger import dedup_keys as keyed
from sedano.model.ledger.records import RESERVATION_S
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.lineage import MAX_HOPS, ROOT, Lineage, begun_id, derived_id
from sedano.model.messages.message import Event
from sedano.model.tasks.signature import Options, Signature
from sedano.ports import Ports
from sedano.ports.deadlines import within

if TYPE_CHECKING:
    from sedano.engine.leases import Leasing
    from sedano.ports.backlog import Backlog

_BATCH: ContextVar[list[Addressed] | None] = ContextVar("sedano_batch", default=None)


class Outlet:
    """Publishes on behalf of one app over one set of ports. Thread-safe."""

    def __init__(
        self, app: str, registry: Registry, ports: Ports, queues: Sequence[str], patience: float | None = None,
        backlog: Backlog | None = None,
    ) -> None:  # fmt: skip
        """Publish for *app*, whose tasks are in *registry* and may use the command *queues*.

        Each publication ends within *patience* seconds (None: without a limit), and a message that cannot be sent is stored in *backlog*.
        """
        self.app, self.registry, self.ports, self.queues, self._patience = app, registry, ports, queues, patience
        self.gathering = Gathering(ports)
        self.lamport = LamportClock(lambda: int(ports.clock.now() * 1_000_000))
        self._composer = Composer(f"{app}@{socket.gethostname()}", self.lamport, ports)
        self.drafting = Drafting(registry, ports, self._composer, queues)
        self._publisher = Publisher(ports.queues, ports.timers, ports.clock, ports.entropy, ports.telemetry, backlog=backlog)
        self._open: list[list[Addressed]] = []
        self._lock = threading.Lock()

    @cached_property
    def leasing(self) -> Leasing:
        """The leases; most programs take none."""
        from sedano.engine.leases import Leasing

        return Leasing(self.ports)

    def publish(self, signature: Signature) -> CommandDraft:
        """Publish *signature*, unless it is already published (`on_duplicate`), and return its draft."""
        options = signature.options
        draft = self.drafting.call(signature, self.drafting.task_id(signature))
        if options.dedup_key is not None:
            draft = draft._replace(keyed=self._composer.payload(draft))
        if options.on_duplicate == "wait":
            self.before_waiting()
        with self._in_time():
            self._ask(options.budget)
            known = options.on_duplicate in ("drop", "raise") and not self._reserved(draft, options)
            if not known:
                self._post([draft], options.budget)
        return draft

    def compose(self, signature: Signature) -> tuple[CommandDraft, Addressed]:
        """Return the draft of *signature* and its message, for a caller that passes it on without a queue.

        The message has an id that is derived from its task's: the worker takes a second call for the same message, delivered again, so it
        publishes what the first one recorded and could not publish.
        """
        draft, budget = self.drafting.call(signature, self.drafting.task_id(signature)), signature.options.budget
        if signature.options.dedup_key is not None:
            draft = draft._replace(keyed=self._composer.payload(draft))
        if self.registry.hooks:
            self._hear([draft])
        with self._in_time():
            self._ask(budget)
            asked, lineage = draft.command, ROOT if budget is None else Lineage(budget=budget)
            return draft, self._composer.compose(draft, lineage, derived_id(asked.task_id, f"direct/{asked.task}"))

    def post(self, drafts: Sequence[Draft]) -> None:
        """Publish *drafts* together, or put them into the outbox of the running task."""
        with self._in_time():
            for draft in drafts:
                self._ask(draft.lineage.budget if isinstance(draft, CommandDraft) and draft.lineage is not None else None)
            self._post(drafts, None)

    def announce(self, name: str, data: Mapping[str, Any]) -> str:
        """Publish the event *name* and return its id."""
        event_id = self.drafting.fresh_id()
        with self._in_time():
            self._post([Event(id=event_id, name=name, data=data, **inherited())], None)
        return event_id

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Collect the messages of the block and send them in batches of ten; the rest when the block ends, even with an error."""
        pending: list[Addressed] = []
        token = _BATCH.set(pending)
        with self._lock:
            self._open.append(pending)
        try:
            yield
        finally:
            _BATCH.reset(token)
            with self._lock:
                self._open = [p for p in self._open if p is not pending]
            with self._in_time():
                self._publisher.publish_or_keep(_taken(pending))

    def before_waiting(self) -> None:
        """Send the messages of the open batch, because the awaited task may be among them.

        Raises:
            WaitInsideTask, WaitInsideLoop: waiting here would block others too.
        """
        must_not_hold_up()
        pending = _BATCH.get()
        if pending:
            with self._in_time():
                self._publisher.publish_or_keep(_taken(pending))

    def send_stored(self) -> int:
        """Send the messages of the backlog, within one deadline; return how many were sent."""
        with self._in_time():
            return self._publisher.drain()

    def resume(self) -> None:
        """Send messages that an earlier process stored after the next publication, not before."""
        self._publisher.resume()

    def close(self) -> None:
        """Send the waiting and the stored messages; store those that cannot be sent."""
        with self._lock:
            pending = [m for p in self._open for m in _taken(p)]
        with self._in_time():
            try:
                self._publisher.publish_or_keep(pending)
            except SedanoError as error:
                self.ports.telemetry.log("error", "messages of an open batch were not published", count=len(pending), error=str(error))
            lost = self._publisher.close()
        if lost:
            self.ports.telemetry.log("error", "messages that were neither sent nor stored beyond this process are lost", count=len(lost))
        self.ports.telemetry.flush()

    def _in_time(self) -> AbstractContextManager[None]:
        """Bound the publications inside by the deadline of one publication; a running task has its own deadline."""
        if self._patience is None or CURRENT.get() is not None:
            return nullcontext()
        return within(self._patience, self.ports.clock.monotonic())

    def _reserved(self, draft: CommandDraft, options: Options) -> bool:
        now, context, task_id = self.ports.clock.now(), CURRENT.get(), draft.command.task_id
        nonce = self.ports.entropy.uuid() if context is None else derived_id(context.id, f"reserve/{task_id}")
        mine = keyed.message_id(draft.keyed, nonce)
        record = self.ports.ledger.reserve(task_id, mine, now, now + RESERVATION_S + draft.delay)
        if record is not None and keyed.is_of_another(draft.keyed, record):
            raise KeyReused(task_id)
        if record is not None and options.on_duplicate == "raise":
            raise DuplicateTask(task_id)
        return record is None

    def _ask(self, budget: int | None) -> None:
        """Refuse a budget that the stage would not accept from this program; publications of a running task share the task's budget."""
        if budget is not None and CURRENT.get() is None:
            require_grant(self.ports, budget)

    def _hear(self, drafts: Sequence[Draft]) -> None:
        """Call the hooks of publications."""
        from sedano.engine import hooks

        hooks.publish(self.registry.hooks, drafts, self.ports.telemetry)

    def _post(self, drafts: Sequence[Draft], budget: int | None) -> None:
        if self.registry.hooks:
            self._hear(drafts)
        context = CURRENT.get()
        if context is not None:
            self._into_outbox(context, drafts)
            return
        lineage = ROOT if budget is None else Lineage(budget=budget)
        messages = [self._composer.compose(draft, lineage, _begun(draft)) for draft in drafts]
        pending = _BATCH.get()
        if pending is not None:
            pending.extend(messages)
            if len(pending) >= self.ports.queues.bounds.max_batch:
                self._publisher.publish_or_keep(_taken(pending))
        elif len(messages) == 1:
            self._publisher.publish(*messages)
        else:
            self._publisher.publish_or_keep(messages)

    def _into_outbox(self, context: TaskContext, drafts: Sequence[Draft]) -> None:
        lineage = context.command.lineage
        if lineage.hops >= MAX_HOPS:
            raise HopLimit(f"hops: {lineage.hops} dynamic spawns since the root {context.root_id}; the limit is {MAX_HOPS}")
        weight = weight_of([*context.outbox, *drafts])
        if weight > lineage.budget:
            more = "start its first task with .set(budget=…), at most most_budget of the stage"
            raise BudgetExhausted(
                f"budget: this task may cause {lineage.budget} more messages and publishes {weight} with its error callbacks; {more}"
            )
        unknown = next((d.queue for d in drafts if isinstance(d, CommandDraft) and d.queue not in self.queues), None)
        if unknown is not None:  # told now, while the body can hear it: the outbox is sent when it has ended
            raise UnknownQueue(f"queue: {unknown!r} is not one of this app's queues {tuple(self.queues)}; add it to Sedano(queues=…)")
        context.outbox += [self.drafting.checked(d) if isinstance(d, CommandDraft) else d for d in drafts]


def _begun(draft: Draft) -> str:
    """Return the id of the message that begins a canvas; empty for other messages, which get a new one."""
    if not isinstance(draft, CommandDraft) or draft.command.place is None:
        return ""
    return begun_id(draft.command.task_id, draft.command.place.node, draft.command.place.plan)


def _taken(pending: list[Addressed]) -> list[Addressed]:
    """Empty *pending* and return its messages."""
    taken = pending[:]
    del pending[: len(taken)]
    return taken
