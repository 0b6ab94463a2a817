"""The world: a whole deployment in memory, on virtual time. Its processes can be killed at a call (`crash_points`)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

from sedano import memory
from sedano.app import Sedano
from sedano.engine.boot import Boot
from sedano.engine.history.recorder import Recorder
from sedano.engine.history.span_export import traced
from sedano.engine.router import Router
from sedano.engine.schedules.scheduler import Scheduler
from sedano.engine.sources.polls import Poll
from sedano.engine.sources.webhooks import Webhooks
from sedano.engine.spending import SpendingControl
from sedano.engine.task_context import CURRENT
from sedano.engine.worker.call_answers import CallAnswers
from sedano.engine.worker.gate_order import GATES
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.errors import Unavailable
from sedano.host.sources import answering, reading
from sedano.memory import START, MemoryParameters, MemorySecretTexts, MemoryTelemetry, MemoryTraces, VirtualClock
from sedano.memory.stream_records import kinesis_record, queue_record, s3_notification, table_record
from sedano.model.history.run_rows import Host
from sedano.model.messages import codec
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.lineage import DEFAULT_BUDGET
from sedano.model.messages.message import LAUNCH, NOTHING, Command, Document, Event
from sedano.model.sources.polls import Polled
from sedano.model.sources.webhooks import Answer, ReceivedRequest
from sedano.model.telemetry.execution_spans import ExportedSpan
from sedano.ports import EVENTS, PARKED, RECORDS, Delivery, Outgoing, command_queue
from sedano.testing.crash_points import CrashWatch, Died
from sedano.testing.sent_queues import SentQueues

INVOCATION_S = 900.0
MINUTE_S = 60.0
MOST_ROUNDS = 100_000
WORKER, ROUTER, RECORDER, SCHEDULER = "worker", "router", "recorder", "scheduler"


class WaitingClock(VirtualClock):
    """A virtual clock on which waiting for a result lets the world work."""

    __slots__ = ("_turn", "work")

    def __init__(self, start: float) -> None:
        """Show *start* at first."""
        super().__init__(start)
        self.work: Callable[[], bool] | None = None
        self._turn = threading.Lock()

    def sleep(self, seconds: float) -> None:
        """Process one round of messages, or advance by *seconds* if there are no messages; inside a round only advance."""
        work, self.work = self.work, None
        try:
            if work is None or not work():
                self.advance(seconds)
        finally:
            self.work = work

    async def sleep_async(self, seconds: float) -> None:
        """Do so on a thread, because processing messages may start event loops; only one waiter at a time."""
        if CURRENT.get() is not None:
            self.advance(seconds)
        else:
            await asyncio.to_thread(self._sleep_until, self.monotonic() + seconds)

    def _sleep_until(self, moment: float) -> None:
        with self._turn:
            if (left := moment - self.monotonic()) > 0:
                self.sleep(left)


class World:
    """A whole deployment in memory: queues, ledger, worker, router and recorder of one app."""

    def __init__(
        self, app: Sedano, seed: int, settings: WorkerSettings, most_budget: int = DEFAULT_BUDGET, watch: CrashWatch | None = None,
        parameters: Mapping[str, str] = NOTHING, spans: list[ExportedSpan] | None = None,
    ) -> None:  # fmt: skip
        """Run *app* in memory; *seed* decides every random choice. *watch* sees the calls of its processes and can kill one.

        *parameters*, *spans*: see `world`."""
        self.app, self.clock, self._settings, self._watch = app, WaitingClock(START), settings, watch
        self.queues = SentQueues(self.clock, app.queues, twice=watch is not None and watch.doubles)
        self.telemetry = MemoryTelemetry(None if spans is None else MemoryTraces(spans))
        self.secrets: dict[str, str] = {}
        self.replaced: dict[str, Poll] = {}
        self._told = self._deaths = 0
        self.ports = replace(
            memory.over(self.clock, self.queues, self.telemetry, seed, most_budget), parameters=MemoryParameters({**parameters})
        )  # fmt: skip
        direct: Any = self.ports.direct_calls
        direct.answer = self._answer
        self.boot = Boot(app.registry, self.ports)
        for process in (WORKER, ROUTER, RECORDER, SCHEDULER):
            self._start(process)
        self._owners = {command_queue(q): WORKER for q in app.queues} | {EVENTS: ROUTER, RECORDS: RECORDER}

    def _start(self, process: str) -> None:
        """Start *process*, or its replacement, which has none of the old process's state."""
        ports = self.ports if self._watch is None else self._watch.tapped(self.ports, process)
        match process:
            case "worker":
                gates = GATES if self._watch is None else (*GATES, self._watch.gate())
                host, loop = Host(f"memory.1.{self._deaths:08x}", 1), self.app.run_loop()
                listener = traced(self.telemetry, host.hostname)
                self.worker = Worker(self.app.registry, ports, host, self._settings, loop, gates=gates, listener=listener)
            case "router":
                self.router = Router(self.app.registry, ports, Host(f"memory.2.{self._deaths:08x}", 2))
            case "recorder":
                self.recorder = Recorder(ports, Host(f"memory.3.{self._deaths:08x}", 3), tenants=tuple(self.app.registry.spending) or None)
            case _:
                lamport, registry = LamportClock(lambda: int(self.clock.now() * 1_000_000)), self.app.registry
                self.scheduler = Scheduler(ports, lamport, f"{self.app.name}@memory")
                self.spending = SpendingControl(ports, lamport, self.app.queues, registry.spending)

    def step(self) -> bool:
        """Deliver one batch of each queue; return whether there was any."""
        return sum(self._deliver(queue) for queue in self._owners) > 0

    def drain(self) -> None:
        """Deliver messages until the queues are empty; virtual time advances for messages that are delayed or held back.

        Raises:
            AssertionError: the tasks publish new messages without end.
        """
        for _ in range(MOST_ROUNDS):
            if not self.step() and not self._wait():
                return
        raise AssertionError(f"not drained after {MOST_ROUNDS} rounds: a task publishes messages without end")

    def elapse(self, seconds: float) -> None:
        """Advance virtual time by *seconds* and process everything that is due; the scheduler runs at each full minute, as when deployed,
        and so does the check of spending limits.

        In an app with periodic tasks, `drain` processes the published messages and starts no periodic task.
        """
        until = self.clock.now() + seconds
        while True:
            while not self._survived(SCHEDULER, lambda: (self.scheduler.round(self.app.periodics), self.spending.round())):
                pass
            self._work_until(min(until, (self.clock.now() // MINUTE_S + 1) * MINUTE_S))
            if self.clock.now() >= until:
                return

    def post(self, path: str, body: bytes | str, headers: Mapping[str, str] = NOTHING, *, method: str = "POST") -> Answer:
        """Send a request to the app's webhook at *path* (such as `/github`), as when deployed, and return the response.

        A sender's check of the address is ``world.post("/meta?hub.mode=subscribe&…", b"", method="GET")``.

        `world.secrets["github"] = "…"` is the secret with which its sender signs.
        """
        place, _, query = path.partition("?")
        return self._webhooks.answer(ReceivedRequest(method, place, headers, body.encode() if isinstance(body, str) else body, query))

    @cached_property
    def _webhooks(self) -> Webhooks:
        return answering(self.app, MemorySecretTexts(self.secrets))

    def change(
        self, stream: str, *, keys: Mapping[str, Any], new: Mapping[str, Any] | None = None, old: Mapping[str, Any] | None = None,
        expired: bool = False, number: int = 0,
    ) -> None:  # fmt: skip
        """Deliver a change of the table behind *stream*: its item with *keys* was *old* (None: it did not exist) and is now *new* (None: it
        was deleted; *expired*: by its time to live). The keys are part of both. *number* (from 1) is the record's number, by default the
        next one; an earlier number repeats that record.

        Raises:
            OptionError: *old* and *new* are equal, or no table can hold such an item.
            ConfigurationError: no task of the app reads a stream of this name.
        """
        self._tell(stream, table_record(self._next(number), self.clock.now(), keys, new, old, expired))

    def record(self, stream: str, data: bytes | str, *, partition_key: str = "-", number: int = 0) -> None:
        """Deliver *data* as a record of the Kinesis stream *stream*; *number* as in `change`.

        Raises:
            ConfigurationError: no task of the app reads a stream of this name.
        """
        held = data.encode() if isinstance(data, str) else data
        self._tell(stream, kinesis_record(self._next(number), self.clock.now(), held, partition_key))

    def message(self, stream: str, body: str, *, attributes: Mapping[str, str] = NOTHING, number: int = 0) -> None:
        """Deliver a message of the queue behind *stream*, with its *body* and message attributes; *number* and errors as in `record`."""
        self._tell(stream, queue_record(self._next(number), self.clock.now(), body, attributes))

    def object_changed(
        self, stream: str, bucket: str, key: str, *, event: str = "ObjectCreated:Put", size: int | None = 0, number: int = 0
    ) -> None:  # fmt: skip
        """Deliver the notification of S3 about a change of an object, by the queue behind *stream*; *number* and errors as in `record`."""
        at = self._next(number)
        self.message(stream, s3_notification(at, self.clock.now(), bucket, key, event, size), number=at)

    def reads(self, poll: str, source: Callable[[Any], Polled | None]) -> None:
        """Let the poll *poll* read *source*, a function of the cursor, in place of its own source until the world ends."""
        self.replaced.setdefault(poll, self.app.polls[poll])
        self.app.polls[poll] = self.app.polls[poll]._replace(read=lambda cursor, _: source(cursor))

    def _next(self, number: int) -> int:
        self._told = max(self._told + (not number), number)
        return number or self._told

    def _tell(self, stream: str, record: Mapping[str, Any]) -> None:
        reading(self.app).take(stream, [record], self.clock.now() + INVOCATION_S)

    def sent(self, name: str) -> list[dict[str, Any]]:
        """Return the calls of the task, the events, or the documents, *name* published so far, in order: args and kwargs, the event's
        fields, or the document's id and value.

        A message that is sent again because it has to wait counts once.
        """
        return [_content(m) for m in map(codec.decode, dict.fromkeys(self.queues.sent)) if _name(m) == name]

    def parked(self) -> list[Outgoing]:
        """Return the parked messages, with their reasons in `attributes`."""
        return self.queues.peek(PARKED)

    def table(self, name: str) -> list[dict[str, Any]]:
        """Return the items that effects have written to the declared table *name*, in the order of their keys."""
        effects: Any = self.ports.effects
        return [dict(row) for row in effects.rows(name)]

    def function(self, name: str, handler: Callable[[Any], Any]) -> None:
        """Use *handler* as the Lambda function *name* of boxed tasks: it gets a request and returns a reply (docs/boxes.md)."""
        functions: Any = self.ports.functions
        functions.handlers[name] = handler

    def documents(self, sink: str) -> list[dict[str, Any]]:
        """Return the documents that *sink* has received, in their order; a second delivery of one is not kept."""
        sinks: Any = self.ports.sinks
        return list(sinks.documents(sink))

    def sink_fails(self, sink: str, error: Exception | None) -> None:
        """Let each write to *sink* raise *error* from now on; None: it works again."""
        sinks: Any = self.ports.sinks
        if error is None:
            sinks.failing.pop(sink, None)
            return

        def fail(_: object) -> None:
            raise error

        sinks.failing[sink] = fail

    def _deliver(self, queue: str) -> bool:
        if self._owners[queue] == WORKER:
            self.boot.look()
        deliveries = self.ports.queues.receive(queue)
        if not deliveries:
            return False
        process = self._owners[queue]
        if self._watch is not None and self._watch.doubles:
            self._start(process)  # the copy reaches one that knows nothing of the message
        self._survived(process, lambda: self._hand_over(process, deliveries))
        return True

    def _survived(self, process: str, work: Callable[[], object]) -> bool:
        """Let *process* do *work*; if it dies, replace it and return False."""
        try:
            work()
        except Died:
            if self._watch is not None:
                self._watch.restarted()
            self._deaths += 1
            self._start(process)
            return False
        return True

    def _hand_over(self, process: str, deliveries: Sequence[Delivery]) -> None:
        if self._watch is not None:
            self._watch.received(process)
        works = {WORKER: self.worker.work, ROUTER: self.router.route, RECORDER: self.recorder.record}
        given_back = {d.message_id for d in works[process](deliveries, self.ports.clock.now() + INVOCATION_S)}
        done = [d for d in deliveries if d.message_id not in given_back]
        if self._watch is None:
            self.ports.queues.delete(done)
        else:
            self._watch.around(process, "queues.delete", lambda: self.ports.queues.delete(done))

    def _answer(self, call: Any, seconds: float) -> dict[str, Any]:
        """Let the worker answer a direct call, for which its caller waits *seconds*.

        Raises:
            Unavailable: the worker died.
        """
        answers: list[dict[str, Any]] = []
        deadline = self.ports.clock.now() + min(seconds, INVOCATION_S)
        if self._watch is not None:
            self._watch.received(WORKER)
        direct = CallAnswers(self.worker, self.app.registry.tasks)
        if not self._survived(WORKER, lambda: answers.append(direct.answer(call, deadline))):
            raise Unavailable("the worker ended without an answer")
        return answers[0]

    def _wait(self) -> bool:
        due = self._due()
        if due is None:
            return False
        self.clock.advance(max(0.0, due - self.clock.now()))
        return True

    def _due(self) -> float | None:
        """Return when the next message is visible, or None without one."""
        return min((at for queue in self._owners if (at := self.queues.next_visible(queue)) is not None), default=None)

    def _work_until(self, moment: float) -> None:
        """Deliver everything that is due until *moment*, and advance the clock to it."""
        for _ in range(MOST_ROUNDS):
            if self.step():
                continue
            due = self._due()
            self.clock.advance(max(0.0, min(moment, moment if due is None else due) - self.clock.now()))
            if due is None or due > moment:
                self.boot.look()
                return
        raise AssertionError(f"still at work after {MOST_ROUNDS} rounds: a task publishes messages without end")


@contextmanager
def world(
    app: Sedano, *, seed: int = 0, settings: WorkerSettings | None = None, most_budget: int = DEFAULT_BUDGET,
    watch: CrashWatch | None = None, parameters: Mapping[str, str] = NOTHING, spans: list[ExportedSpan] | None = None,
) -> Iterator[World]:  # fmt: skip
    """Bind *app* to a world in memory for the length of the block; `get()` on a result runs the world until the result arrives.

    Its boot steps start before the block and stop after it; its services run meanwhile, in real time. `world.boot.states()` returns the
    state of each step. Steps and services keep running when *watch* kills a process. Inside the block of another world of *app*, the inner
    world is used until its block ends, and the outer one after it.

    Args:
        app: the app under test.
        seed: decides every random choice, so that a failing test fails again.
        settings: the worker settings; by default those of the app without threads, so that a run is deterministic.
        most_budget: as the setting of a stage: the largest budget of a message without a mark.
        watch: sees the calls that the processes make, and can kill one (`sedano.testing.crash_points`).
        parameters: the values for the layers of `app.configure`: parameters by name (``/shop/pool``), profiles of AppConfig as
            ``application/environment/profile``.
        spans: takes the spans that deployed workers would export.

    Raises:
        BootFailed: a mandatory boot step failed.
    """
    own = settings or (app.worker or WorkerSettings())._replace(lanes=0, concurrency=1)
    built = World(app=app, seed=seed, settings=own, most_budget=most_budget, watch=watch, parameters=parameters, spans=spans)
    bound = app.registry.bound
    outer = bound if bound is not None and isinstance(bound.clock, WaitingClock) else None
    app.attach(built.ports if watch is None else watch.tapped(built.ports, WORKER, in_bodies=True))
    try:
        built.boot.begin()
        built.clock.work = built.step
        yield built
    finally:
        built.boot.end()
        app.polls.update(built.replaced)
        app.attach(outer)


def _name(message: object) -> str:
    if isinstance(message, Command):
        return message.task
    if isinstance(message, Document):
        return message.task
    return message.name if isinstance(message, Event) else ""


def _content(message: object) -> dict[str, Any]:
    if isinstance(message, Command) and message.task != LAUNCH:
        return {"args": list(message.args), "kwargs": dict(message.kwargs)}
    if isinstance(message, Document):
        return {"id": message.id, "value": message.value}
    return dict(message.data) if isinstance(message, Event) else {}
