"""`sedano worker` in the foreground: the deployment that it works on, one process of workers, and the signals that end it.

The first SIGTERM, SIGINT or SIGHUP drains; the second one ends the process at once. A killed process loses nothing: after the visibility
timeout its messages are visible again and its claims have expired.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sedano.api import dev_server
from sedano.api.connector import AWS, DEPLOYMENT, brought
from sedano.app import Sedano
from sedano.aws.client.session import Session, is_slim
from sedano.aws.deployment import ports_of, preferring
from sedano.aws.queues import LONG_POLL_S
from sedano.aws.settings import from_environment
from sedano.engine.worker.end_reports import Listener
from sedano.errors import UsageError
from sedano.host import one_file
from sedano.host.engine_process import ProcessSettings
from sedano.host.pulses import Feed, Watchdog
from sedano.host.service_manager import ALIVE as ALIVE_STATE
from sedano.host.service_manager import READY as READY_STATE
from sedano.host.service_manager import STOPPING, ServiceManager
from sedano.host.stop_signals import StopSignals
from sedano.host.supervised import ALIVE, ALIVE_S, LEAVING, READY, Supervised, supervised
from sedano.host.worker_process import LaneSettings, WorkerProcess
from sedano.host.worker_reports import host_kind
from sedano.host.worker_supervisor import Fleet, WorkerSupervisor
from sedano.host.worker_telemetry import end, worker_telemetry
from sedano.model.beats import ProbeAnswer, health
from sedano.model.prefetch import poll_within
from sedano.model.restarts import spread
from sedano.model.tasks.task_spec import TaskSpec
from sedano.model.telemetry.adapter_names import names_in
from sedano.model.worker_advice import Declarations, advice
from sedano.ports import Ports, Telemetry, command_queue

if TYPE_CHECKING:
    from sedano.host.health_server import HealthServer

Reporting = Callable[[Callable[[], Mapping[str, int]], str], Telemetry]
"""A function from the calls that were made, and the namespace of the metrics, to the telemetry of the process."""
LOOK_S = 0.2
"""The interval at which the process checks that its supervisor is alive, in seconds."""
FILE_POLL_S = 0.25
"""How long a receiver polls a file, in seconds: a poll costs no request, but a process cannot end before its polls do."""
TO_RECORD_S = 1.0
"""How much longer than the time limit of a task a body may take, so that its end is recorded before the task is taken over."""
EXTENDED_S = 5.0
"""How much longer than its drain a process asks the service manager to wait for its end."""
BROKEN = 1
"""The exit status of a process whose lane ended (`sedano.cli.exits`)."""
NO_DEPLOYMENT = (
    'which deployment? set the variables of a stage, `eval "$(sedano outputs --stage NAME)"`, start `sedano dev` in this project, or name '
    "a SQLite file: --file shop.db"
)


class WorkerOptions(NamedTuple):
    """The options of `sedano worker`: the names of the *queues* (none: all of the app), *concurrency* bodies at once, the SQLite *file*
    (None: the deployment of the environment), and seconds: for the *drain*, for a body (*timeout*), for which a message stays invisible
    (*visibility*). The process ends after about *most_tasks* messages, and when it uses more than *most_memory* MiB (0: never).
    It answers probes at the address *health* (`sedano.host.health_server`; empty: nowhere). *logs* names the adapter for
    its log ("": that of the environment, or of where the log goes); *telemetry* takes the log in place of an adapter; *listener*: see
    `Worker`.
    """

    queues: Sequence[str]
    concurrency: int
    drain: float
    timeout: float
    visibility: int
    file: Path | None = None
    most_tasks: int = 0
    most_memory: int = 0
    health: str = ""
    logs: str = ""
    telemetry: Telemetry | None = None
    listener: Listener | None = None


class WorkerDeployment(NamedTuple):
    """The *ports* to work on, the names of their *queues*, and whether they are over a file of this machine (*near*).

    *alone*: neither the functions of a stage nor a `sedano dev` route events, record the history and run schedules.
    """

    ports: Ports
    queues: Sequence[str]
    alone: bool
    near: bool = True


def run(app: Sedano, options: WorkerOptions) -> int:
    """Run workers of *app* until a signal ends them; return the exit status: 0 after a drain, `BROKEN` when the process could not continue.

    A second signal ends the process with 128 and the number of the signal.

    Raises:
        UsageError: a queue is unknown, no deployment is named, or a time limit is too long for the options.
        ConfigurationError: the variables of the stage are malformed.
    """
    above, manager, process = supervised(os.environ), ServiceManager(os.environ), worker_process(app, options)
    with StopSignals() as signals:
        running = RunningWorker(process, above, manager, signals)
        server = _health_server(options.health, running.health)
        try:
            running.run(options)
        finally:
            if server is not None:
                server.close()
    app.close()
    end(process.telemetry)
    status = BROKEN if process.broken is not None else 0
    if process.running():  # a body that does not end would block the exit of the interpreter
        os._exit(status)
    return status


class RunningWorker:
    """Runs a process of workers, handles the signals that end it, and sends its signs of life."""

    def __init__(self, process: WorkerProcess, above: Supervised | None, manager: ServiceManager, signals: StopSignals) -> None:
        """Report to the supervisor *above*, if there is one, and to the *manager*."""
        self._process, self._supervisor, self._manager, self._signals, self._is_ready = process, above, manager, signals, False
        feeds: list[Feed] = []
        if above is not None:
            feeds.append(Feed(ALIVE_S, lambda: above.say(ALIVE)))
        if manager.watchdog is not None:
            feeds.append(Feed(manager.watchdog / 2, lambda: manager.say(ALIVE_STATE)))
        self._watchdog = Watchdog(process.pulses, process.telemetry, time.monotonic, tuple(feeds))

    def run(self, options: WorkerOptions) -> None:
        """Run the process on a thread, until a signal, its supervisor or its work ends it; a second signal ends it at once."""
        self._process.when_ready = lambda: self._ready(f"STATUS={options.concurrency} bodies at once")
        above, signals = self._supervisor, self._signals
        if above is not None:
            self._process.when_leaving = lambda: above.say(LEAVING)
        main = threading.Thread(target=self._process.run, name="sedano-worker", daemon=True)
        main.start()
        while main.is_alive() and not signals.asked and not (above is not None and above.is_left()):
            self._look()
        self._process.stop()
        self._manager.say(STOPPING, f"EXTEND_TIMEOUT_USEC={int((options.drain + EXTENDED_S) * 1_000_000)}", "STATUS=draining")
        while main.is_alive():
            if len(signals.asked) > 1:
                os._exit(128 + signals.asked[1])
            self._look()

    def health(self) -> ProbeAnswer:
        """Return the answer of the process to a probe; a signal counts as soon as it arrives."""
        draining = bool(self._signals.asked) or self._process.is_stopping
        return health(begun=self._is_ready, draining=draining, stuck=self._watchdog.stuck, looked=self._watchdog.away())

    def _look(self) -> None:
        self._signals.wait(LOOK_S)
        self._watchdog.look()

    def _ready(self, status: str) -> None:
        self._is_ready = True
        if self._supervisor is not None:
            self._supervisor.say(READY)
        else:
            self._manager.say(READY_STATE, status)


def _health_server(where: str, look: Callable[[], ProbeAnswer]) -> HealthServer | None:
    """Return the server that answers probes at *where* with the answer of *look*; None if *where* is empty."""
    if not where:
        return None
    from sedano.host.health_server import HealthServer, address

    return HealthServer(address(where), look)


def worker_process(app: Sedano, options: WorkerOptions) -> WorkerProcess:
    """Return the process of *options*, which has received nothing yet; raises as `run` does."""
    queues = options.queues or app.queues
    _require(queues, app.queues, "the app")
    found = deployment(app, options, os.environ)
    _require(queues, found.queues, "the stage")
    ports = found.ports
    own = [spec for name, spec in app.registry.tasks.items() if not name.startswith("sedano.") and spec.queue in queues]
    _require_time(own, options.timeout)
    per_worker = [spec.name for spec in own if spec.limits is not None and spec.limits.per_worker]
    declared = Declarations(app.registry.of_batches(app.worker.concurrency if app.worker is not None else 1), per_worker)
    for words in advice(os.getuid(), options.concurrency, sum(not spec.is_async for spec in own), declared):
        ports.telemetry.log("warning", words)
    settings = ProcessSettings(
        seconds=options.timeout, visibility=options.visibility, queues=queues, alone=found.alone, listener=options.listener,
        kind=host_kind(os.environ),
    )  # fmt: skip
    poll = FILE_POLL_S if found.near else poll_within(options.drain, LONG_POLL_S)
    most_tasks = spread(options.most_tasks, ports.entropy.unit()) if options.most_tasks else 0
    lanes = LaneSettings(options.concurrency, options.drain, poll, most_tasks, options.most_memory * 2**20)
    return WorkerProcess(app, ports, settings, lanes)


def deployment(app: Sedano, options: WorkerOptions, environment: Mapping[str, str]) -> WorkerDeployment:
    """Return the deployment to work on: the named file, the ports of the app's `connect=`, the stage of the *environment*, or the running
    `sedano dev` of the project.

    Raises:
        UsageError: none of them exists.
        ConfigurationError: the variables of the stage are malformed, or a `sedano dev` has ended and left its file.
    """
    def reporting(calls: Callable[[], Mapping[str, int]], namespace: str = app.name) -> Telemetry:
        return worker_telemetry(environment, f"sedano/{namespace}", calls, logs=options.logs, shown=options.telemetry)

    if options.file is not None:
        return WorkerDeployment(one_file.ports(options.file, app.queues, options.visibility, reporting(dict)), app.queues, alone=True)
    is_stage = any(environment.get(name) for name in DEPLOYMENT)
    if app.connect != AWS:
        ports = brought(app.connect, app.brokers)
        if options.telemetry is not None or options.logs or names_in(environment).given:
            ports = replace(ports, telemetry=reporting(ports.telemetry.calls))
        return WorkerDeployment(ports, app.queues, alone=not is_stage, near=not is_stage)
    if is_stage:
        with preferring(app.brokers):
            return _stage(options.visibility, environment, reporting)
    beside = dev_server.ports_beside(environment, Path.cwd())
    if beside is None:
        raise UsageError(NO_DEPLOYMENT)
    return WorkerDeployment(replace(beside, telemetry=reporting(beside.telemetry.calls)), app.queues, alone=False)


def _stage(visibility: int, environment: Mapping[str, str], reporting: Reporting) -> WorkerDeployment:
    if not environment.get("SEDANO_QUEUES"):
        raise UsageError(NO_DEPLOYMENT)
    stage = from_environment(environment)
    deployed = [name.removeprefix(command_queue("")) for name in stage.queues if name.startswith(command_queue(""))]
    ports = ports_of(
        stage, "worker", worker_session(environment), visibility, lambda counts: reporting(lambda: dict(counts), stage.stage)
    )
    return WorkerDeployment(ports, deployed, alone=False, near=False)


def worker_session(environment: Mapping[str, str], **options: Any) -> Session:
    """Return the AWS session of a worker: with the slim client, unless SEDANO_AWS_CLIENT of *environment* names another one. *options*:
    see `Session`.

    Raises:
        ConfigurationError: SEDANO_AWS_CLIENT names no client.
    """
    return Session(slim=is_slim(environment, unless_set="slim"), **options)


def _require(queues: Sequence[str], known: Sequence[str], owner: str) -> None:
    """Refuse a queue that *owner* does not have."""
    for queue in queues:
        if queue not in known:
            raise UsageError(f"--queues: {owner} has no queue {queue!r}; it has {', '.join(sorted(known))}")


def _require_time(tasks: Sequence[TaskSpec], timeout: float) -> None:
    """Refuse a time limit that no body could use up: the body would be taken over before, again and again."""
    for task in tasks:
        longest = task.time_limits.longest if task.time_limits is not None else 0.0
        if longest and longest + TO_RECORD_S > timeout:
            hint = f"give --timeout={math.ceil(longest + TO_RECORD_S)}, or a shorter time_limit="
            raise UsageError(f"--timeout: {timeout:g} s are too short for {task.name}, which has a time limit of {longest:g} s; {hint}")


def supervise(words: Sequence[str], fleet: Fleet, where: str, logs: str = "") -> int:
    """Run the processes of *fleet*, each a `sedano worker` with these *words*, until a signal ends them; return the exit status.

    Probes are answered at the address *where*; empty: nowhere. *logs* names the adapter for the log of the supervisor.

    Raises:
        ConfigurationError: the name of an adapter for telemetry is unknown.
        UsageError: *where* is not an address, or is taken.
    """
    telemetry = worker_telemetry(os.environ, "sedano/supervisor", dict, logs=logs)
    named = fleet._replace(words=[sys.executable, "-m", "sedano", "worker", *words])
    supervisor = WorkerSupervisor(named, telemetry, ServiceManager(os.environ), os.environ)
    server = _health_server(where, supervisor.health)
    try:
        return supervisor.run()
    finally:
        if server is not None:
            server.close()
