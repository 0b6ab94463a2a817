"""A long-running process that runs the whole engine of one app over given ports, with the machine's time.

On AWS, Lambda starts a worker, a router and a recorder for each batch, and a scheduler and a controller every minute. Here loops do this:

    commands           the thread that calls `run`; in the main thread, a hard time limit also interrupts system calls
    events, records    a separate thread, so that a long body does not delay them
    the minute         a separate thread: one round of the scheduler and one of the controller
    the inbox          a separate thread: each second it reads the control record, and the commands that the record announces

`run` works until `stop` is called; `drain` processes the messages that are due, on one thread, and returns.

After `stop`, nothing more is received, the running body ends, and messages whose bodies have not begun go back to their queue at once. A
killed process loses nothing: after the visibility timeout its messages are visible again and its claims have expired.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sedano.app import Sedano
from sedano.engine.boot import Boot
from sedano.engine.cluster.controller import Controller
from sedano.engine.history.recorder import Recorder
from sedano.engine.history.span_export import traced
from sedano.engine.router import Router
from sedano.engine.schedules.scheduler import Scheduler
from sedano.engine.spending import SpendingControl
from sedano.engine.worker.end_reports import Listener
from sedano.engine.worker.pipeline import Worker
from sedano.engine.worker.settings import WorkerSettings
from sedano.engine.worker.time_limit_warning import Overtime
from sedano.host.pulses import Pulse, Pulses
from sedano.host.worker_reports import Hindrances, Reporter
from sedano.model.beats import Allowances
from sedano.model.cluster.inbox import DRAIN, PAUSE, RESUME, RETRY_BOOT, Receiving, after
from sedano.model.cluster.scale import Server
from sedano.model.cluster.worker_report import PROCESS
from sedano.model.history.run_rows import Host
from sedano.ports import EVENTS, RECORDS, Delivery, Ports, command_queue
from sedano.ports.absent import has
from sedano.workflow.built_in_tasks import enlist

REST_S = 0.02
"""How long a loop pauses when its queues were empty, in seconds."""
FAULT_S = 1.0
"""How long a loop pauses after a store did not answer, in seconds."""
MINUTE_S = 60.0
INBOX, MINUTES, FOLLOWERS = "inbox", "minutes", "followers"
"""The names of the background loops."""
INBOX_S = 1.0
"""The interval at which the control record is read, in seconds: a command reaches a running process within twice that."""
Work = Callable[[Sequence[Delivery], float], list[Delivery]]


def ignored(_: float | None) -> None:
    """Ignore the deadline."""


class ProcessSettings(NamedTuple):
    """How a process works.

    *seconds*: for one batch, as a function's time limit. *batch*: messages received at once (1 to 10). *visibility*: seconds for which the
    queues hide a received message, which is extended while bodies run; None: they hide it for longer than *seconds*. *deadline* is called
    with the moment (epoch s) at which the batch under way must end, and with None when it is done. *listener*: see `Worker`. *queues*: the
    command queues that it serves; None: all of the app. *alone*: it also does the work of a stage's other functions (events, records, the
    minute). *allowed*: how long each kind of turn may take before its loop counts as stuck. *kind*: of host, in its workers' reports.
    """

    seconds: float = 60.0
    batch: int = 10
    visibility: float | None = None
    deadline: Callable[[float | None], None] = ignored
    listener: Listener | None = None
    queues: Sequence[str] | None = None
    alone: bool = True
    allowed: Allowances = Allowances()
    kind: str = PROCESS


class Consumer(NamedTuple):
    """Receives from some queues, and passes each batch to a function that processes it. *stopping*: whether no more work may begin.

    *paused*: whether nothing may be received now. *beat* is called before each queue is polled, and before a batch is processed.
    """

    ports: Ports
    works: Mapping[str, Work]
    settings: ProcessSettings
    stopping: Callable[[], bool]
    paused: Callable[[], bool] = lambda: False
    beat: Callable[[], None] = lambda: None

    def turn(self) -> bool:
        """Process one batch of each queue; return whether there was one.

        Raises:
            Unavailable: a queue did not answer.
        """
        return sum(self._batch(queue, work) for queue, work in self.works.items()) > 0

    def _batch(self, queue: str, work: Work) -> bool:
        self.beat()
        queues = self.ports.queues
        deliveries = [] if self.stopping() or self.paused() else queues.receive(queue, self.settings.batch)
        if not deliveries:
            return False
        self.beat()
        back = {delivery.message_id for delivery in work(deliveries, self.ports.clock.now() + self.settings.seconds)}
        if done := [delivery for delivery in deliveries if delivery.message_id not in back]:
            queues.delete(done)
        if self.stopping():
            self._show_again([delivery for delivery in deliveries if delivery.message_id in back])
        return True

    def _show_again(self, deliveries: Sequence[Delivery]) -> None:
        """Let another process receive *deliveries* at once."""
        for delivery in deliveries:
            self.ports.queues.hold(delivery, 0)


class EngineProcess:
    """Runs the engine of *app* until it is stopped. One per process of the operating system."""

    def __init__(self, app: Sedano, ports: Ports, settings: ProcessSettings) -> None:
        """Build the engine, and bind *app* to *ports*; nothing is received yet.

        Raises:
            PortMissing: *ports* lack one that something declared in the app needs.
            OptionError: boot steps cannot be ordered.
        """
        enlist(app)
        app.attach(ports)
        self._app, self._ports, self._settings = app, ports, settings
        self.pulses, self._beats = Pulses(settings.allowed), dict[str, Pulse]()
        self._is_stopped, self._stopping = False, threading.Event()
        self._name, self._run_loop = f"{socket.gethostname()}.{os.getpid()}.{ports.entropy.uuid()[:8]}", app.run_loop()
        host, self.boot = Host(self._name, os.getpid()), Boot(app.registry, ports)
        self._reporter = Reporter(app, self.boot, settings.kind, os.environ)
        self.worker = self._employed(host, (app.worker or WorkerSettings())._replace(lanes=0))
        self._overtime = Overtime(self.worker.running, ports.clock, ports.telemetry)
        self._receiving = Receiving()
        self._commands = self._consumer({command_queue(queue): self._work for queue in settings.queues or app.queues})
        self._commands = self._commands._replace(paused=lambda: self._receiving.paused)
        followed: dict[str, Work] = {EVENTS: Router(app.registry, ports, host).route} if settings.alone else {}
        if settings.alone and has(ports.events):
            followed[RECORDS] = Recorder(ports, host, tenants=tuple(app.registry.spending) or None).record
        self._followed = self._consumer(followed)._replace(beat=lambda: self._beat(FOLLOWERS, self.pulses.allowed.lane))
        self._rounds = self._by_the_minute() if settings.alone else {}
        self._threads: list[threading.Thread] = []
        self._configuration = app.registry.configuration

    def run(self) -> None:
        """Start the boot steps, and work until `stop` is called; bodies run on this thread.

        Raises:
            BootFailed: a mandatory boot step failed; nothing was received.
        """
        self.begin()
        try:
            self._serve()
        finally:
            self.stop()
        self.end()

    def begin(self) -> None:
        """Start the boot steps, then the background loops. Nothing is received before."""
        self.boot.begin()
        if self._settings.alone:
            self._threads = [
                threading.Thread(target=self._loop, args=(self._followed,), name="sedano-followers", daemon=True),
                threading.Thread(target=self._minutes, name="sedano-minutes", daemon=True),
            ]
        for worker in self._workers():
            self._prepare(worker)
        if has(self._ports.control) and has(self._ports.memos):
            self._threads.append(threading.Thread(target=self._inbox, name="sedano-inbox", daemon=True))
        for thread in self._threads:
            thread.start()

    def _prepare(self, worker: Worker) -> None:
        """Let *worker* report on this process, and carry out the verbs that apply to the whole process."""
        worker.membership.report, worker.inline.rests = self._report, self._begins_nothing
        receiving = {verb: self._pausing(verb) for verb in (PAUSE, RESUME)}
        worker.commands.host.update({DRAIN: self.stop, RETRY_BOOT: self.boot.hasten, **receiving})

    def _begins_nothing(self) -> bool:
        """Return whether no further body may begin now, so that a chain sends its next link."""
        return self._receiving.paused

    def end(self) -> None:
        """Stop the boot steps, wait for the background loops, and leave the cluster. Nothing is received afterwards."""
        self.boot.end()
        for thread in self._threads:
            thread.join()
        self.worker.leave()
        self.pulses.close()

    def _serve(self) -> None:
        """Process commands until `stop` is called."""
        self._loop(self._commands)

    def drain(self, patience: float) -> bool:
        """Do one round of each task of the minute, then process messages until no message is due; return whether that was reached. Bodies
        run on this thread.

        It waits for messages in flight, such as those of a killed worker, until nothing could be received for *patience* seconds.
        Raises what `run` raises.
        """
        self.boot.begin()
        self._do_rounds()
        clock = self._ports.clock
        until, rests = clock.monotonic() + patience, [0.0]
        while not self._is_stopped:
            rests = [self._turn(self._commands), self._turn(self._followed)]
            if 0.0 in rests:
                until = clock.monotonic() + patience
            elif clock.monotonic() >= until or (FAULT_S not in rests and not self._unfinished()):
                break
            else:
                clock.sleep(max(rests))
        self.stop()
        self.boot.end()
        self.worker.leave()
        self.pulses.close()
        self._ports.telemetry.flush()
        return not {0.0, FAULT_S} & {*rests}

    def stop(self) -> None:
        """Receive nothing more, and let running bodies end; then `run` returns. Signal handlers and any thread may call this."""
        if not self._is_stopped:
            self._is_stopped = True
            self.worker.drain()
            self._stopping.set()

    def _employed(self, host: Host, settings: WorkerSettings) -> Worker:
        """Return a worker with the name of *host*, which extends claims and visibilities as this process does."""
        own = settings._replace(visibility=self._settings.visibility)
        ticker = self.pulses.ticker(f"claims of {host.hostname}", self._ports.telemetry)
        listener = traced(self._ports.telemetry, host.hostname, self._settings.listener)
        return Worker(self._app.registry, self._ports, host, own, self._run_loop, ticker=ticker, listener=listener)

    def _consumer(self, works: Mapping[str, Work]) -> Consumer:
        return Consumer(self._ports, works, self._settings, lambda: self._is_stopped)

    def _work(self, deliveries: Sequence[Delivery], deadline: float) -> list[Delivery]:
        self._settings.deadline(deadline)
        self._overtime.begin(deadline - self._ports.clock.now())
        if self._configuration is not None:
            self._configuration.enter()
        try:
            return self.worker.work(deliveries, deadline)
        finally:
            if self._configuration is not None:
                self._configuration.leave()
            self._overtime.end()
            self._settings.deadline(None)

    def _loop(self, consumer: Consumer) -> None:
        while not self._is_stopped:
            seconds = self._turn(consumer)
            if seconds:
                self._ports.clock.sleep(seconds)
        if consumer is self._followed:
            self.pulses.end(FOLLOWERS)

    def _turn(self, consumer: Consumer) -> float:
        """Process one batch of each queue; return how many seconds to pause after it."""
        try:
            if consumer is self._commands:
                self.boot.look()
            return 0.0 if consumer.turn() else REST_S
        except Exception as error:  # noqa: BLE001 - a fault of an adapter must not end the loop while the process goes on
            words = "a queue did not answer; it is polled again"
            self._ports.telemetry.log("warning", words, error=f"{type(error).__name__}: {error}")
            return FAULT_S

    def _unfinished(self) -> bool:
        """Return whether a queue has messages that are due or in flight; False where the ports do not count them.

        One count covers both, because the message of a killed worker may become visible between an empty receive and this count.
        """
        consumers, queues = self._ports.consumers, [*self._commands.works, *self._followed.works]
        return has(consumers) and any(any(consumers.load(queue)) for queue in queues)

    def _by_the_minute(self) -> dict[str, Callable[[], object]]:
        """Return the functions to call every minute, by name, for which the deployment has the ports."""
        app, ports, outlet = self._app, self._ports, self._app.outlet
        rounds: dict[str, Callable[[], object]] = {}
        if has(ports.schedules):
            scheduler = Scheduler(ports, outlet.lamport, f"{app.name}@{socket.gethostname()}")
            rounds["scheduler"] = lambda: scheduler.round(app.periodics)
        if all(map(has, (ports.members, ports.consumers, ports.control, ports.memos))):
            registry = app.registry
            rounds["controller"] = Controller(
                ports=ports, lamport=outlet.lamport, queues=app.queues, budgets=registry.budgets, checks=registry.checks,
                announce=lambda name: outlet.announce(name, {}),
            ).round  # fmt: skip
        if app.registry.spending:
            rounds["spending control"] = SpendingControl(ports, outlet.lamport, app.queues, app.registry.spending).round
        return rounds

    def _pausing(self, verb: str) -> Callable[[], None]:
        """Return the function that pauses or resumes receiving, as *verb* says."""

        def change() -> None:
            self._receiving = after(self._receiving, verb)

        return change

    def _workers(self) -> Sequence[Worker]:
        """Return the workers of this process: each is a member of the cluster and receives the commands to it."""
        return [self.worker]

    def _beat(self, name: str, allowed: float | None) -> None:
        """Note that the loop called *name*, which calls this, has made progress (`sedano.host.pulses`)."""
        if name not in self._beats:
            self._beats[name] = self.pulses.of(name)
        self._beats[name].beat(allowed)

    def _inbox(self) -> None:
        allowed = INBOX_S + self._settings.allowed.lane
        self._beat(INBOX, allowed)
        while not self._stopping.wait(INBOX_S):
            self._beat(INBOX, allowed)
            try:
                self._look()
            except Exception as error:  # noqa: BLE001 - the next read tries again, and tasks run meanwhile
                self._ports.telemetry.log("warning", "the inbox could not be checked", error=f"{type(error).__name__}: {error}")
        self.pulses.end(INBOX)

    def _look(self) -> None:
        """Read the control record once for all workers of this process, and let each carry out the commands that it announces."""
        first, *others = self._workers()
        first.membership.look()
        for other in others:
            if other.membership.control.clock < first.membership.control.clock:
                other.membership.control = first.membership.control
        if self._configuration is not None:
            self._configuration.look(first.membership.control.config)
        for worker in (first, *others):
            worker.commands.obey()
            worker.membership.report_change()

    def _report(self) -> str:
        """Return the report on this process that its workers send."""
        me = Server(self._name, tuple(self._settings.queues or self._app.queues), 1)
        return self._reporter.of_process(me, 1, self._hindrances())

    def _hindrances(self) -> Hindrances:
        """Return what keeps this process from receiving or running tasks."""
        return Hindrances(draining=self._is_stopped, paused=self._receiving.paused, stuck=tuple(self.pulses.stuck))

    def _minutes(self) -> None:
        while not self._is_stopped:
            self._beat(MINUTES, self._settings.allowed.lane)
            self._do_rounds()
            self._ports.telemetry.flush()
            self._beat(MINUTES, MINUTE_S + self._settings.allowed.call)
            self._stopping.wait(MINUTE_S - self._ports.clock.now() % MINUTE_S)
        self.pulses.end(MINUTES)

    def _do_rounds(self) -> None:
        for name, call in self._rounds.items():
            try:
                call()
            except Exception as error:  # noqa: BLE001 - the next round decides again, and tasks run meanwhile
                words = f"the {name} could not do its round; it tries again in a minute"
                self._ports.telemetry.log("warning", words, error=f"{type(error).__name__}: {error}")
