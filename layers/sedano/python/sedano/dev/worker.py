"""The worker process of `sedano dev`: it loads the app, runs its engine over the project's SQLite file, and ends on request.

The supervisor starts it as `python -m sedano.dev.worker NUMBER`. The number is the file descriptor of its end of a channel, on which it
receives its arguments: other users can read a command line, and the arguments contain the secrets of webhooks. Until they arrive, the
process is a spare, which has imported only this library. It ends with the supervisor: when the channel is closed, it finishes its current
batch, at most until the deadline of the batch.
"""

from __future__ import annotations

import importlib
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sedano.app import Sedano, load
from sedano.dev import declarations
from sedano.dev.channel import DEADLINE, DRAINED, READY, STOP, Channel
from sedano.dev.output import Console, TaskStream, WorkerConsole, capture, label
from sedano.dev.run_reports import PARKED, EndCounts, Report, logged, report
from sedano.dev.webhook_server import WebhookServer
from sedano.engine.batch import Judged, Ran
from sedano.errors import ConfigurationError, SedanoError
from sedano.host import one_file
from sedano.host.engine_process import EngineProcess, ProcessSettings
from sedano.model.cluster.worker_report import DEV

VISIBILITY_S = 10.0
"""The seconds for which a received message is hidden unless its worker extends them; then the tasks of a killed worker run again."""
DOES_NOT_LOAD = 3
"""The exit status of a worker whose app does not load."""
_FOREIGN = (str(Path(__file__).resolve().parent.parent), str(importlib.__file__), "<frozen")
"""The files whose frames are not the user's: this library and the import system."""


class Given(NamedTuple):
    """The arguments of a worker: the file descriptor of its *output*, the app, its folder, the database, the seconds for a batch."""

    output: int
    colour: bool
    app: str
    code: str
    database: str
    timeout: int
    secrets: Mapping[str, tuple[str, ...]]
    once: bool = False


class ShownTelemetry:
    """Shows warnings and errors of the engine (`sedano.ports.Telemetry`); counts nothing."""

    def __init__(self, console: Console, tally: EndCounts) -> None:
        """Write to *console*; count parked messages in *tally*."""
        self._console, self._tally = console, tally

    def log(self, level: str, message: str, /, **fields: Any) -> None:
        """Write a line if it is a warning or an error."""
        show(self._console, logged(level, message, fields))
        if message == PARKED:
            self._tally.park()

    def count(self, metric: str, value: float = 1, **dimensions: str) -> None:
        """Count nothing."""

    def calls(self) -> Mapping[str, int]:
        """Return nothing: no call of AWS is made."""
        return {}

    def flush(self) -> None:
        """Do nothing: a line is written when it is logged."""


def show(console: Console, found: Report | None) -> None:
    """Write a report, if there is one."""
    if found is not None:
        console.say(found.text, found.style, label(found.task, found.task_id) if found.task else "")
        if found.traceback:
            console.block(found.traceback)


def user_traceback(error: BaseException) -> str:
    """Return the traceback of *error* and of its causes, with only the frames of the user's code."""
    told = traceback.TracebackException.from_exception(error)
    part: traceback.TracebackException | None = told
    while part is not None:
        users = [frame for frame in part.stack if not frame.filename.startswith(_FOREIGN)]
        part.stack = traceback.StackSummary.from_list(users)
        part = part.__cause__ or part.__context__
    return "".join(told.format())


def loaded(reference: str, code: str) -> Sedano:
    """Return the app; raise any exception of its module."""
    sys.path[0] = code
    importlib.invalidate_caches()  # a spare has looked into folders that may have other files now
    importlib.import_module(reference.partition(":")[0])
    return load(reference, "app")


def unloadable(reference: str, code: str, error: BaseException) -> tuple[str, str]:
    """Return why the app does not load, and the traceback to show: none for a reference that names no app, because no code is wrong."""
    module, why = reference.partition(":")[0], f"{type(error).__name__}: {error}"
    if isinstance(error, ModuleNotFoundError) and error.name and f"{module}.".startswith(f"{error.name}."):
        remedy = 'write app = "module:attribute" below [tool.sedano] in pyproject.toml, or give --app module:attribute'
        return f"{code} has no module {error.name}; {remedy}", ""
    if isinstance(error, ConfigurationError) and isinstance(error.__cause__, AttributeError):
        return why, ""
    return why, user_traceback(error) if not isinstance(error, SedanoError) or error.__cause__ is not None else ""


def _say_unloadable(console: WorkerConsole, given: Given, error: BaseException) -> None:
    why, trace = unloadable(given.app, given.code, error)
    console.say(f"{given.app} does not load; messages wait until it does: {why}", "bad")
    if trace:
        console.block(trace)


def run(given: Given, channel: Channel) -> int:
    """Run the engine until it is stopped; return the exit status."""
    listening = socket.socket(fileno=channel.descriptors[0])
    console = WorkerConsole(given.output, given.colour)
    capture(console)
    tally = EndCounts()
    try:
        app = loaded(given.app, given.code)
        ports = one_file.ports(Path(given.database), app.queues, VISIBILITY_S, ShownTelemetry(console, tally))
        process, deadlines = _engine(app, ports, given, channel, console, tally)
        process.boot.begin()
        server = WebhookServer(app, given.secrets, listening) if app.webhooks and not given.once else None
    except BaseException as error:  # noqa: BLE001 - the user's module may raise anything
        _say_unloadable(console, given, error)
        return DOES_NOT_LOAD
    threading.Thread(target=_obey, args=(channel, process, deadlines, server), name="sedano-channel", daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: process.stop())
    if server is not None:
        server.begin()
    _report(app, channel, given.once)
    if given.once:
        is_done = process.drain(VISIBILITY_S)
        channel.send(DRAINED, **tally.counts(), later=one_file.waiting_for_later(Path(given.database), app.queues), done=is_done)
    else:
        process.run()
    if server is not None:
        server.end()
    app.close()
    return 0


class Deadlines:
    """The deadline of the current batch (epoch s), for this process and for the supervisor."""

    def __init__(self, channel: Channel) -> None:
        """Inform the other end of *channel*."""
        self._channel = channel
        self.current: float | None = None

    def __call__(self, deadline: float | None) -> None:
        """Set the *deadline* of the current batch; None: no batch runs."""
        self.current = deadline
        self._channel.send(DEADLINE, at=deadline)


def _engine(app: Sedano, ports: Any, given: Given, channel: Channel, console: Console, tally: EndCounts) -> tuple[EngineProcess, Deadlines]:
    deadlines = Deadlines(channel)

    def heard(ran: Ran, judged: Judged | None) -> None:
        show(console, report(ran, judged))
        tally.note(ran, judged)

    settings = ProcessSettings(seconds=given.timeout, visibility=VISIBILITY_S, deadline=deadlines, listener=heard, kind=DEV)
    return EngineProcess(app, ports, settings), deadlines


def _obey(channel: Channel, process: EngineProcess, deadlines: Deadlines, server: WebhookServer | None) -> None:
    """Stop *process* and *server* when the supervisor requests it or has ended.

    The server stops first, not after the current batch, so that the next worker answers webhooks with the new code.
    """
    row: Mapping[str, Any] | None = {}
    while row is not None:
        row = channel.next()
        if row is None or row["kind"] == STOP:
            process.stop()
            if server is not None:
                server.end()
    while (deadline := deadlines.current) is not None:  # the supervisor has ended, which would end an overdue batch
        left = deadline - time.time()
        if left < 0:
            os.killpg(0, signal.SIGKILL)
        time.sleep(min(left, 1.0))


def _report(app: Sedano, channel: Channel, once: bool) -> None:
    own = [name for name in app.registry.tasks if not name.startswith("sedano.")]
    channel.send(
        READY, tasks=len(own), periodic=len(app.periodics), webhooks=[] if once else sorted(app.webhooks), streams=sorted(app.streams),
        queues=list(app.queues), declared=declarations.written(app),
    )  # fmt: skip


def main(arguments: list[str]) -> int:
    """Run with the arguments that arrive on the channel."""
    descriptor = int(arguments[0])
    os.set_inheritable(descriptor, False)
    channel = Channel(socket.socket(fileno=descriptor))
    row = channel.next()
    if row is None:  # the supervisor has ended
        return 0
    secrets = {name: tuple(texts) for name, texts in row["secrets"].items()}
    status = run(Given(**{name: row[name] for name in Given._fields if name != "secrets"}, secrets=secrets), channel)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TaskStream):
            stream.end()
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
