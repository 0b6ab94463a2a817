"""The engine of one app as a long-running process: it runs several bodies at once, controls each one separately, and ends without delay.

    a receiver for each queue → the message buffer → lanes → acknowledger

Each lane has a worker of its own and processes one message at a time, as a Lambda environment does with a batch. So a slow task delays only
its own lane, and pauses, circuits, limits and deadlines are checked before each body. Claims and visibilities are extended while bodies run
(`sedano.engine.worker.claim_extension`).

After `stop`, the process ends in this order:

1. nothing more is received, and no further body begins;
2. messages whose bodies have not begun go back to their queues at once;
3. messages that an open request still receives go back at once too: SQS hides the messages of an abandoned request, so the process
   waits for its open requests (`sedano.model.prefetch`);
4. running bodies may end, and are recorded and acknowledged, until a second before the end of the drain;
5. async bodies that still run are cancelled, their claims are released, and their messages go back;
6. `def` bodies that still run are cut: their claims are released under their fencing tokens, and their messages go back. Another process
   runs them at once, and the results of the old bodies are not recorded.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sedano.app import Sedano
from sedano.engine.worker.pipeline import Worker
from sedano.engine.worker.settings import WorkerSettings
from sedano.errors import BootFailed, SedanoError
from sedano.host.acknowledger import Acknowledger
from sedano.host.engine_process import FAULT_S, EngineProcess, ProcessSettings
from sedano.host.gathered_calls import GatheredCalls
from sedano.host.message_buffer import WAKE_S, MessageBuffer, Unit
from sedano.host.process_end import each, release
from sedano.host.process_memory import used_memory
from sedano.host.record_batches import RecordBatches
from sedano.host.scaling import Scaling
from sedano.host.worker_lane import Lane
from sedano.host.worker_lane import LaneSettings as LaneSettings
from sedano.model import states
from sedano.model.cluster.inbox import CONCURRENCY, TERMINATE
from sedano.model.history.run_rows import Host
from sedano.model.ledger.records import TERMINATE as ASKED_TO_END
from sedano.model.prefetch import share
from sedano.ports import Delivery, Ports, Telemetry
from sedano.ports.brokers import sources

CUT_S = 1.0
"""How long before the end of a drain the bodies that still run are cancelled, in seconds."""
PAUSED_S = 0.2
"""How long a receiver pauses before it checks again whether the process receives tasks, in seconds."""
KEEP_S = 1.0
"""The interval, in seconds, at which the messages that wait for a lane are hidden again, so that a lane has as much time as it assumes."""
KEEPER, EVENT_LOOP = "keeper of waiting messages", "event loop"
"""The names of the loops that serve all lanes."""
LOOK_S = 1.0
"""The interval at which failed optional boot steps are checked, in seconds."""


class WorkerProcess(EngineProcess):
    """Runs an app's tasks until it is stopped. *broken*: the error that ended a lane; such a process cannot continue, and has stopped.

    *when_ready* is called when it receives, *when_leaving* when it ends because it has done as much as it may.
    """

    def __init__(self, app: Sedano, ports: Ports, settings: ProcessSettings, lanes: LaneSettings) -> None:
        """Build the engine, and bind *app* to *ports*; nothing is received yet. *settings* must give a visibility.

        Raises:
            PortMissing: *ports* lack one that something declared in the app needs.
            OptionError: boot steps cannot be ordered.
        """
        self._sources = sources(ports.queues, settings.queues or app.queues)
        self._histories, self._deletions = (GatheredCalls(lambda: self._buffer.is_taken_soon) for _ in range(2))
        ports = replace(ports, queues=RecordBatches(ports.queues, self._histories))
        super().__init__(app, ports, settings)
        self._own, self._visibility = lanes, settings.visibility or settings.seconds
        self._buffer = MessageBuffer(lanes.concurrency, self._at_once(lanes.concurrency), are_short=lambda: self._deletions.are_short)
        self._acknowledger = Acknowledger(ports, self._deletions)
        self._loop_of_bodies: Any = None
        if self._run_loop is not None:
            from sedano.engine.worker.standing_loop import StandingLoop

            self._loop_of_bodies = StandingLoop(lambda: self._beat(EVENT_LOOP, settings.allowed.loop))
            self._run_loop = self._loop_of_bodies.run_together
        self._numbers, self._changing, self._target = itertools.count(), threading.Lock(), lanes.concurrency
        self._lanes = [self._lane() for _ in range(lanes.concurrency)]
        self._lane_threads: list[threading.Thread] = []
        self._scaling = Scaling(ports, self._name, tuple(settings.queues or app.queues), lanes.concurrency, self.resize)
        self.broken: BaseException | None = None
        self.when_ready: Callable[[], None] = lambda: None
        self.when_leaving: Callable[[], None] = lambda: None
        self._counting, self._tasks, self._is_cut = threading.Lock(), 0, False

    def begin(self) -> None:
        """Start the boot steps and the background loops, and join the cluster."""
        try:
            super().begin()
        except BootFailed as error:
            self._ports.telemetry.log("error", "the worker does not start", error=str(error))
            self.broken = error
            raise
        for lane in self._lanes:
            lane.worker.join()

    def end(self) -> None:
        """Stop the boot steps, and leave the cluster."""
        self.boot.end()
        now = self._ports.clock.monotonic
        _ended(self._threads, now() + CUT_S, now)
        each(lambda lane: lane.worker.leave(), self._lanes)
        if self._loop_of_bodies is not None and not self.running():
            self._loop_of_bodies.close()
            self.pulses.end(EVENT_LOOP)
        self.pulses.close()
        self._ports.telemetry.flush()

    def stop(self) -> None:
        """Begin no further body; `run` returns when the drain is over."""
        for lane in self._lanes:
            lane.worker.drain()
        super().stop()

    def _lane(self) -> Lane:
        """Return a new lane, with a worker of its own."""
        settings = self._app.worker or WorkerSettings()
        own = settings._replace(concurrency=1, lanes=0 if self._run_loop is None else 1)
        return Lane(self._employed(Host(f"{self._name}.{next(self._numbers)}", os.getpid()), own))

    def _prepare(self, worker: Worker) -> None:
        super()._prepare(worker)
        worker.inline.follows = partial(self._count, 1)
        worker.commands.host.update({CONCURRENCY: self._resized, TERMINATE: partial(self._terminate, worker)})

    def _report(self) -> str:
        return self._reporter.of_process(self._scaling.me, self._target, self._hindrances())

    def _look(self) -> None:
        super()._look()
        if not self._is_stopped and self._lanes:
            self._scaling.look(self._lanes[0].worker.membership)

    def resize(self, concurrency: int, most: Mapping[str, int] | None = None) -> None:
        """Run *concurrency* bodies at once from now on. Running bodies continue: a surplus lane ends when it is free.

        *most*: the limits of bodies at once of some queues, by the queue's key; None leaves them unchanged.
        """
        if not self._is_stopped:
            self._target = concurrency
            self._add_lanes(concurrency - len(self._lanes))
            self._buffer.resize(concurrency, self._at_once(concurrency), most)

    def _at_once(self, concurrency: int) -> int:
        """Return the most messages that a receiver requests at once."""
        return share(concurrency, len(self._sources), self._ports.queues.bounds.max_batch)

    def _resized(self, number: str) -> str:
        before, self._scaling.started = self._target, int(number)
        self.resize(int(number))
        return f"{number} bodies at once, {before} before"

    def _add_lanes(self, number: int) -> None:
        """Start *number* more lanes."""
        for _ in range(number):
            lane = self._lane()
            self._prepare(lane.worker)
            lane.worker.join()
            with self._changing:
                self._lanes = [*self._lanes, lane]
                self._lane_threads.append(self._thread(self._work_off, lane))

    def _dropped(self, lane: Lane) -> bool:
        """Return whether *lane* has left, because it was cut or there are more lanes than wanted."""
        with self._changing:
            if not lane.is_cut:
                if self._is_stopped or len(self._lanes) <= self._target:
                    return False
                self._lanes = [one for one in self._lanes if one is not lane]
        lane.worker.leave()
        return True

    def _terminate(self, worker: Worker, task_id: str) -> str:
        """End the body of the task *task_id* if *worker* runs it and it was revoked with terminate; return the result in words."""
        context = next((one for one in worker.running() if one.id == task_id), None)
        if context is None:
            return "not running here"
        record = self._ports.ledger.read([task_id]).get(task_id)
        if record is None or (record.asked < ASKED_TO_END and record.state != states.REVOKED):
            return "not revoked with terminate=True, so it continues"
        if self._loop_of_bodies is not None and self._loop_of_bodies.end_revoked(context):
            return "cancelled"
        self._replace(next(lane for lane in self._lanes if lane.worker is worker))
        return "cut: its claim is released, and its result is not recorded"

    def _replace(self, lane: Lane) -> None:
        """Give back the message of *lane*, whose body does not end, and let another lane take its place."""
        lane.worker.cut()
        with self._changing:
            lane.is_cut, cut = True, [*lane.units]
            self._lanes = [one for one in self._lanes if one is not lane]
            for unit in cut:
                self._buffer.done(unit, unit[0].queue)
        for unit in cut:
            self._give_back(unit)
        if not self._is_stopped:
            self._add_lanes(1)

    def running(self) -> list[Delivery]:
        """Return the messages whose bodies run."""
        return [delivery for lane in self._lanes for unit in [*lane.units] for delivery in unit]

    def _workers(self) -> Sequence[Worker]:
        return [lane.worker for lane in self._lanes]

    def _serve(self) -> None:
        queues = self._settings.queues or self._app.queues
        receivers = [self._thread(self._receive, key, source) for key, source in self._sources]
        with self._changing:
            self._lane_threads = [self._thread(self._work_off, lane) for lane in self._lanes]
        self._thread(self._keep)
        self._ports.telemetry.log("info", "the worker is ready", queues=[*queues], concurrency=self._target, pid=os.getpid())
        self.when_ready()
        while not self._stopping.wait(LOOK_S):
            self.boot.look()
        self._empty(receivers, self._lane_threads)

    @property
    def telemetry(self) -> Telemetry:
        """The telemetry that it logs to."""
        return self._ports.telemetry

    @property
    def is_stopping(self) -> bool:
        """Whether it has been asked to end, or ends because of its work."""
        return self._is_stopped

    def _thread(self, call: Callable[..., None], *arguments: Any) -> threading.Thread:
        thread = threading.Thread(target=call, args=arguments, name=f"sedano-{call.__name__.strip('_')}", daemon=True)
        thread.start()
        return thread

    def _empty(self, receivers: Sequence[threading.Thread], lanes: Sequence[threading.Thread]) -> None:
        """End as the docstring of this module describes."""
        now, log = self._ports.clock.monotonic, self._ports.telemetry.log
        until, left = now() + self._own.drain, self._buffer.close()
        polled = now() + self._own.poll
        log("info", "the worker stops", running=len(self.running()), given_back=len(left), drain=self._own.drain)
        each(lambda delivery: self._give_back([delivery]), left)
        self._thread(self._report_drain)
        _ended(lanes, until - CUT_S, now)
        if self._loop_of_bodies is not None and self.running():
            self._loop_of_bodies.cut()
        _ended(lanes, until, now)
        if cut := self.running():
            log("warning", "bodies did not end within the drain; their messages go back", running=len(cut))
            self._cut(cut)
        _ended(receivers, max(until, polled), now)

    def _report_drain(self) -> None:
        """Report to the cluster that this process drains."""
        for lane in self._lanes:
            lane.worker.membership.report_change()

    def _cut(self, deliveries: Sequence[Delivery]) -> None:
        """Let other processes run the tasks that still run here: at once if the claim is released, else when it has expired."""
        self._is_cut = True
        release(self._workers(), self._ports)
        each(lambda delivery: self._give_back([delivery]), deliveries)

    def _receive(self, queue: str, source: str) -> None:
        """Receive the messages of *queue* by the key *source* for the lanes until the process stops."""
        name, call = f"receiver of {source}", self._settings.allowed.call
        while asked := self._buffer.ask(lambda: self._beat(name, WAKE_S + call), queue):
            self._beat(name, self._own.poll + call)
            found: Sequence[Delivery] = ()
            try:
                if self._rests():
                    self._stopping.wait(PAUSED_S)
                else:
                    found = self._ports.queues.receive(source, asked, self._own.poll)
                if found and self._rests():  # it was paused meanwhile
                    self._give_back(found)
                    found = ()
            except Exception as error:  # noqa: BLE001 - a fault of an adapter must not end the receiver while the process goes on
                words = "a queue did not answer; it is polled again"
                self._ports.telemetry.log("warning", words, error=f"{type(error).__name__}: {error}", queue=source)
                self._stopping.wait(FAULT_S)
            self._give_back(self._buffer.arrived(asked, found, queue), lambda: self._beat(name, call))
        self.pulses.end(name)

    def _rests(self) -> bool:
        """Return whether nothing is received now: the process is paused, or a new configuration waits until no body runs."""
        return self._receiving.paused or (self._configuration is not None and self._configuration.is_waiting)

    def _begins_nothing(self) -> bool:
        return self._rests() or len(self._lanes) > self._target

    def _work_off(self, lane: Lane) -> None:
        """Process units until the process stops."""
        name, allowed = f"lane {lane.worker.host.hostname}", self._settings.allowed
        pulse = self.pulses.of(name, is_busy=lambda: bool(lane.worker.running()))
        while not self._dropped(lane):
            unit = self._buffer.take(lambda: pulse.beat(WAKE_S + allowed.call), lambda: len(self._lanes) <= self._target)
            if unit is None:
                if self._is_stopped:
                    break
                continue
            pulse.beat(allowed.lane)
            lane.units.append(unit)
            self._histories.expect()
            self._deletions.expect()
            try:
                self._configured(lane, unit)
            except BaseException as error:  # noqa: BLE001 - a body ended its thread (SystemExit), or there is a fault in the engine
                words = "a lane ended; the process stops, and the message is delivered again"
                self._ports.telemetry.log("error", words, error=f"{type(error).__name__}: {error}")
                self.broken = error
                self.stop()
                return
            finally:
                self._histories.forget()
                self._deletions.forget()
                with self._changing:
                    lane.units.clear()
                    if not lane.is_cut:
                        self._buffer.done(unit, unit[0].queue)
        self.pulses.end(name)

    def _configured(self, lane: Lane, unit: Unit) -> None:
        """Process *unit*, or give it back at once while a new configuration waits for the bodies of other lanes."""
        if self._configuration is None:
            self._one(lane, unit)
        elif self._configuration.enter():
            try:
                self._one(lane, unit)
            finally:
                self._configuration.leave()
        else:
            self._give_back(unit)

    def _one(self, lane: Lane, unit: Unit) -> None:
        back = {delivery.message_id for delivery in lane.worker.work(unit, self._ports.clock.now() + self._settings.seconds)}
        self._count(len(unit))
        if self._is_cut or lane.is_cut:  # another process may have the message by now
            return
        self._acknowledger.delete([delivery for delivery in unit if delivery.message_id not in back])
        if self._is_stopped:
            self._give_back([delivery for delivery in unit if delivery.message_id in back])

    def _count(self, messages: int) -> None:
        """Count *messages* or links of chains that were processed, and end the process after so many."""
        with self._counting:
            before, self._tasks = self._tasks, self._tasks + messages
        if before < self._own.most_tasks <= self._tasks:
            self._retire("the process has reached its limit of tasks", tasks=self._tasks)

    def _retire(self, words: str, **fields: Any) -> None:
        self._ports.telemetry.log("info", words, **fields)
        self.when_leaving()
        self.stop()

    def _keep(self) -> None:
        """Extend the visibility of the messages that wait for a lane, and end a process that has grown too large."""
        call = self._settings.allowed.call
        self._beat(KEEPER, KEEP_S + call)
        while not self._stopping.wait(KEEP_S):
            self._beat(KEEPER, KEEP_S + call)
            self._hold(self._buffer.waiting(), self._visibility, lambda: self._beat(KEEPER, call))
            if self._own.most_memory and (used := used_memory()) > self._own.most_memory:
                self._retire("the process has reached its limit of memory", mebibytes=used // 2**20)
        self.pulses.end(KEEPER)

    def _give_back(self, deliveries: Sequence[Delivery], beat: Callable[[], None] = lambda: None) -> None:
        self._hold(deliveries, 0, beat)

    def _hold(self, deliveries: Sequence[Delivery], seconds: float, beat: Callable[[], None]) -> None:
        for delivery in deliveries:
            beat()
            try:
                self._ports.queues.hold(delivery, seconds)
            except SedanoError as error:
                words = "the visibility of a message was not changed; it is delivered again later"
                self._ports.telemetry.log("warning", words, message_id=delivery.message_id, error=str(error))


def _ended(threads: Sequence[threading.Thread], until: float, now: Callable[[], float]) -> None:
    """Wait until *threads* have ended, at most until *until*."""
    for thread in threads:
        if thread.ident is not None:
            thread.join(max(0.0, until - now()))
