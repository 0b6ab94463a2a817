"""The supervisor of `sedano worker --processes N`: it keeps N worker processes running, and ends them all.

    starting ──ready──> working ──after so much work: leaving──> a new one starts; the old one drains and ends
        │                  ├──died──> a new one, after a longer pause each time
        │                  └──no sign of life for so long──> killed, so it died
        └──an option or a setting is wrong──> all end

A signal is passed on to each process, and so is a second one. The supervisor imports no app and makes no AWS client. Processes whose
supervisor was killed notice it, and drain.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sedano.host.service_manager import ALIVE as ALIVE_STATE
from sedano.host.service_manager import READY as READY_STATE
from sedano.host.service_manager import STOPPING, ServiceManager
from sedano.host.stop_signals import StopSignals
from sedano.host.supervised import LEAVING, READY, VARIABLE
from sedano.model.beats import ProbeAnswer, counted, health
from sedano.model.restarts import backoff, in_a_row
from sedano.ports import Telemetry

USAGE = 2
"""The exit status of a process that can never work (`sedano.cli.exits`): it is not started again."""
LOOK_S = 0.2
"""The interval at which the supervisor checks for processes that ended without news, in seconds."""
GRACE_S = 10.0
"""How much longer than its drain a process may take to end before it is killed."""


class Fleet(NamedTuple):
    """The processes of a supervisor: the *words* of a process's command line, how many *processes*, and the seconds of their *drain*.

    A process that gives no sign of life for *silent* seconds is replaced: it is stopped, or one of its loops is stuck.
    """

    processes: int
    drain: float
    silent: float
    words: Sequence[str] = ()


class WorkerChild:
    """One process. *number*: its place in the fleet. *is_leaving*: whether another process has taken that place."""

    def __init__(self, number: int, words: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start it, in a session of its own: Ctrl-C in a terminal reaches only the supervisor."""
        self.number, self.is_ready, self.is_leaving = number, False, False
        self.started = time.monotonic()
        self.silent: float | None = None
        """How many seconds ago it gave its last sign of life; None: it has given none yet, because it still loads the app."""
        self.news, theirs = os.pipe()
        named = {**environment, VARIABLE: f"{os.getpid()}:{theirs}"}
        self.process = subprocess.Popen(words, pass_fds=(theirs,), env=named, stdin=subprocess.DEVNULL, start_new_session=True)
        os.close(theirs)


class WorkerSupervisor:
    """Runs the processes of one `sedano worker`."""

    def __init__(self, fleet: Fleet, telemetry: Telemetry, manager: ServiceManager, environment: Mapping[str, str]) -> None:
        """Begin with none; *manager* started the supervisor."""
        self._fleet, self._telemetry, self._manager, self._environment = fleet, telemetry, manager, environment
        self._selector = selectors.DefaultSelector()
        self._workers: list[WorkerChild] = []
        self._deaths = dict.fromkeys(range(fleet.processes), 0)
        self._due = dict.fromkeys(range(fleet.processes), 0.0)
        self._status = 0
        self._said = self._is_draining = False
        self._looked = self._fed = time.monotonic()

    def run(self) -> int:
        """Run until a signal asks for the end, and all have ended; return the exit status.

        It is 0 when they drained, 2 when an option or a setting is wrong, 1 when a process had to be killed, and 128 and the number of the
        signal when a second one ended them.
        """
        with StopSignals() as signals:
            self._selector.register(signals.woken, selectors.EVENT_READ)
            while not signals.asked and not self._status:
                self._start_due()
                self._look()
            self._is_draining = True
            seconds = self._fleet.drain + 2 * GRACE_S
            self._manager.say(STOPPING, f"EXTEND_TIMEOUT_USEC={int(seconds * 1_000_000)}", "STATUS=draining")
            self._pass_on(signals.asked[0] if signals.asked else signal.SIGTERM)
            self._wait(signals)
            if len(signals.asked) > 1:
                return 128 + signals.asked[1]
        return self._status

    def _start_due(self) -> None:
        """Start the processes that are due."""
        now = time.monotonic()
        for number in [number for number, due in self._due.items() if due <= now]:
            del self._due[number]
            made = WorkerChild(number, self._fleet.words, self._environment)
            self._workers.append(made)
            self._selector.register(made.news, selectors.EVENT_READ, made)

    def _look(self) -> None:
        """Read the news, and note which processes have ended."""
        self._listen()
        for one in [one for one in self._workers if one.process.poll() is not None]:
            self._ended(one)

    def _listen(self) -> None:
        """Read the news of the processes and the signals for a while, and note which processes hang."""
        for key, _ in self._selector.select(LOOK_S):
            if isinstance(key.data, WorkerChild):
                self._hear(key.data)
            else:
                key.fileobj.recv(64)  # type: ignore[union-attr]
        self._watch()

    def health(self) -> ProbeAnswer:
        """Return the answer of the supervisor to a probe: it is ready once all processes have been ready, while at least one of them is."""
        begun = self._said and any(one.is_ready and not one.is_leaving for one in [*self._workers])
        looked = time.monotonic() - self._looked
        return health(begun=begun, draining=self._is_draining or self._status > 0, stuck=(), looked=looked)

    def _watch(self) -> None:
        """Kill processes that hang, and send the manager a sign of life: this loop works, and replaces such processes."""
        now = time.monotonic()
        step, self._looked = counted(now - self._looked), now
        for one in self._workers:
            if one.silent is not None:
                one.silent += step
                if one.silent > self._fleet.silent:
                    words = "a worker process gives no sign of life and is killed"
                    self._telemetry.log("error", words, killed=one.process.pid, seconds=round(one.silent, 1))
                    one.silent = None
                    one.process.kill()
        if self._manager.watchdog is not None and now >= self._fed + self._manager.watchdog / 2:
            self._fed = now
            self._manager.say(ALIVE_STATE)

    def _hear(self, one: WorkerChild) -> None:
        news = os.read(one.news, 64).decode()
        one.silent = 0.0  # any news are a sign of life: a process that is stopped as soon as it is ready has sent no other
        if not news:  # it has closed its end, and ends
            self._selector.unregister(one.news)
        if READY in news:
            one.is_ready = True
            if not self._said and sum(worker.is_ready for worker in self._workers) == self._fleet.processes:
                self._said = True
                self._manager.say(READY_STATE, f"STATUS={self._fleet.processes} processes")
                self._telemetry.log("info", "all worker processes are ready", processes=self._fleet.processes, pid=os.getpid())
        if LEAVING in news and not one.is_leaving:
            one.is_leaving = True
            self._due[one.number] = 0.0

    def _ended(self, one: WorkerChild) -> None:
        """Note the end of a process, and schedule the start of another one in its place."""
        self._workers.remove(one)
        if one.news in self._selector.get_map():
            self._hear(one)
        if one.news in self._selector.get_map():
            self._selector.unregister(one.news)
        os.close(one.news)
        status = one.process.returncode
        if status == USAGE and not one.is_ready:
            self._status = USAGE
        elif not one.is_leaving:
            self._deaths[one.number] = deaths = in_a_row(self._deaths[one.number], time.monotonic() - one.started)
            pause = backoff(deaths)
            self._due[one.number] = time.monotonic() + pause
            how = f"signal {-status}" if status < 0 else f"exit status {status}"
            self._telemetry.log("error", "a worker process ended; a new one starts", ended=one.process.pid, how=how, seconds=pause)

    def _pass_on(self, number: int) -> None:
        for one in self._workers:
            one.process.send_signal(number)

    def _wait(self, signals: StopSignals) -> None:
        """Wait until all have ended; pass a second signal on, and kill those that are far beyond their drain."""
        until, passed = time.monotonic() + self._fleet.drain + GRACE_S, len(signals.asked) > 1
        while any(one.process.poll() is None for one in self._workers):
            self._listen()
            if len(signals.asked) > 1 and not passed:
                passed = True
                self._pass_on(signals.asked[1])
            if time.monotonic() > until:
                self._status = self._status or 1
                self._telemetry.log("error", "worker processes did not end and are killed", processes=len(self._workers))
                self._pass_on(signal.SIGKILL)
                until += GRACE_S
