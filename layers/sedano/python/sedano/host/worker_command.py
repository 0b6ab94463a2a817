"""`sedano worker` in the foreground: the ports over SQS or over one SQLite file, one process of workers, and the signals that end it.

The first SIGTERM, SIGINT or SIGHUP drains; the second one ends the process at once. A killed process loses nothing: its messages are
visible again, and its claims are over, when the visibility has passed.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sedano.app import Sedano
from sedano.aws.deployment import ports_of
from sedano.aws.queues import POLL_S
from sedano.aws.settings import DeploymentSettings, from_environment
from sedano.aws.telemetry import PowertoolsTelemetry
from sedano.errors import UsageError
from sedano.host import one_file
from sedano.host.engine_process import ProcessSettings
from sedano.host.worker_process import LaneSettings, WorkerProcess
from sedano.ports import Ports, command_queue

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FILE_POLL_S = 0.25
"""How long a receiver waits on a file: a look costs no request, and the end of the process waits for it."""
BROKEN = 1
"""The exit status of a process whose lane ended (`sedano.cli.exits`)."""
NO_DEPLOYMENT = (
    'which deployment? set the variables of a stage, `eval "$(sedano outputs --stage NAME)"`, or name the SQLite file of a project: '
    "--file .sedano/dev.db"
)


class WorkerOptions(NamedTuple):
    """The options of `sedano worker`: the names of the *queues* (none: all of the app), *concurrency* bodies at once, the SQLite *file*
    (None: SQS), and seconds: for the *drain*, for a body (*timeout*), for which a message stays invisible (*visibility*).
    """

    queues: Sequence[str]
    concurrency: int
    drain: float
    timeout: float
    visibility: int
    file: Path | None = None


def run(app: Sedano, options: WorkerOptions) -> int:
    """Run workers of *app* until a signal ends them; return the exit status: 0 after a drain, `BROKEN` when the process could not go on.

    A second signal ends the process with 128 and the number of the signal.

    Raises:
        UsageError: a queue is unknown, or no deployment is named.
        ConfigurationError: the variables of the stage are malformed.
    """
    process = worker_process(app, options)
    main = threading.Thread(target=process.run, name="sedano-worker", daemon=True)
    with _signals() as (woken, asked):
        main.start()
        while main.is_alive() and not asked and not process.broken:
            _wait(woken)
        process.stop()
        while main.is_alive():
            if len(asked) > 1:
                os._exit(128 + asked[1])
            _wait(woken)
    app.close()
    status = BROKEN if process.broken is not None else 0
    if process.running():  # a body that does not end would hold up the end of the interpreter
        os._exit(status)
    return status


def worker_process(app: Sedano, options: WorkerOptions) -> WorkerProcess:
    """Return the process of *options*, which has received nothing yet; raises as `run` does."""
    queues = options.queues or app.queues
    _require(queues, app.queues, "the app")
    ports = _ports(app, options, queues)
    settings = ProcessSettings(seconds=options.timeout, visibility=options.visibility, queues=queues, alone=options.file is not None)
    poll = FILE_POLL_S if options.file is not None else min(POLL_S, max(1.0, options.drain / 3))
    return WorkerProcess(app, ports, settings, LaneSettings(options.concurrency, options.drain, poll))


def _ports(app: Sedano, options: WorkerOptions, queues: Sequence[str]) -> Ports:
    """Return the ports over the file, or over the stage that the environment names."""
    if options.file is not None:
        telemetry = PowertoolsTelemetry("sedano-worker", "sedano/file", {})
        return one_file.ports(options.file, app.queues, options.visibility, telemetry)
    if not os.environ.get("SEDANO_QUEUES"):
        raise UsageError(NO_DEPLOYMENT)
    stage: DeploymentSettings = from_environment(os.environ)
    deployed = [name.removeprefix(command_queue("")) for name in stage.queues if name.startswith(command_queue(""))]
    _require(queues, deployed, f"the stage {stage.stage}")
    return ports_of(stage, "worker", visibility=options.visibility)


def _require(queues: Sequence[str], known: Sequence[str], owner: str) -> None:
    """Refuse a queue that *owner* does not have."""
    for queue in queues:
        if queue not in known:
            raise UsageError(f"--queues: {owner} has no queue {queue!r}; it has {', '.join(sorted(known))}")


@contextmanager
def _signals() -> Iterator[tuple[socket.socket, list[int]]]:
    """Collect signals, which wake a reader of the socket."""
    asked: list[int] = []
    woken, wakes = socket.socketpair()
    woken.settimeout(0.2)
    wakes.setblocking(False)
    before = {number: signal.signal(number, lambda number, _: asked.append(number)) for number in SIGNALS}
    descriptor = signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
    try:
        yield woken, asked
    finally:
        signal.set_wakeup_fd(descriptor)
        for number, handler in before.items():
            signal.signal(number, handler)
        woken.close()
        wakes.close()


def _wait(woken: socket.socket) -> None:
    """Wait for a signal for a moment."""
    try:
        woken.recv(64)
    except TimeoutError:
        return
