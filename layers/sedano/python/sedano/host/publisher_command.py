"""`sedano publisher` in the foreground: the deployment that it sends to, its socket, and the signals that end it.

The first SIGTERM, SIGINT or SIGHUP drains; the second one ends the process at once. A killed process loses nothing that it confirmed.
"""

from __future__ import annotations

import os
import pwd
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from sedano.api.connector import AWS, connected
from sedano.app import Sedano
from sedano.aws.client.session import Session
from sedano.aws.deployment import ports_of, preferring
from sedano.aws.settings import from_environment
from sedano.engine.publisher import spool_folder
from sedano.engine.publisher.sender import Publisher
from sedano.engine.publisher.spool import Spool
from sedano.errors import UsageError
from sedano.host.listening_socket import Listening, listening
from sedano.host.publisher_lanes import SendingLanes, SpoolLanes
from sedano.host.publisher_process import PublisherProcess, PublisherSettings, Stopped
from sedano.host.service_manager import ALIVE, READY, STOPPING, ServiceManager
from sedano.host.stop_signals import StopSignals
from sedano.host.worker_telemetry import end, worker_telemetry
from sedano.model.publisher_frames import STORED
from sedano.ports import Ports, Telemetry, deadlines

COMPONENT, SERVICE = "publisher", "sedano-publisher"
CALL_S = 2.0
"""How long a call of the publisher to AWS may take, in seconds: less than the share of a program's call in which it must answer."""
MOST_PROGRAMS = 4_096
"""The most programs that are connected, if the process may open as many files."""
FILES_LEFT = 64
"""The files that the process keeps for itself."""
EXTENDED_S = 5.0
"""How much longer than its drain the process asks the service manager to wait for its end."""


class PublisherOptions(NamedTuple):
    """The options of `sedano publisher`: the path of its *socket* (empty: systemd passes it), the meaning of a confirmation (*ack*), the
    most calls at a time for each queue (*lanes*), the names or ids of further users that may publish (*allowed*), seconds for the *drain*,
    and the adapter for its log (*logs*; empty: that of the environment, or of where the log goes).
    """

    socket: str
    ack: str
    lanes: int
    allowed: Sequence[str] = ()
    drain: float = 10.0
    logs: str = ""


def run(app: Sedano, options: PublisherOptions) -> int:
    """Publish for the programs of *app* until a signal ends it; return the exit status 0.

    A second signal ends the process with 128 and the number of the signal.

    Raises:
        UsageError: the socket cannot be used, a user is unknown, or this host has no spool for `ack=stored`.
        ConfigurationError: the variables of the stage are missing or malformed.
    """
    users, manager = allowed_users(options.allowed), ServiceManager(os.environ)
    os.environ.pop("SEDANO_PUBLISHER", None)  # the publisher itself sends to the queues
    ports = deployment(app, options.logs, os.environ)
    spool = _spool(app, options.ack)
    with StopSignals() as signals:
        socket = listening(options.socket, os.environ)
        try:
            stopped = _run(ports, spool, socket, options, users, manager, signals)
        finally:
            socket.close()
    ports.telemetry.log("info", "the publisher has stopped", **stopped._asdict())
    end(ports.telemetry)
    return 0


def _run(
    ports: Ports, spool: Spool | None, socket: Listening, options: PublisherOptions, users: frozenset[int], manager: ServiceManager,
    signals: StopSignals,
) -> Stopped:  # fmt: skip
    settings = PublisherSettings(
        ack=options.ack, deployment=spool_folder.deployment_digest(os.environ), users=users, connections=_most_programs(),
        drain=options.drain,
    )  # fmt: skip

    def lanes(wake: Callable[[], None]) -> SendingLanes:
        return SendingLanes(ports.queues, options.lanes, ports.telemetry, wake)

    stored = _stored(ports, spool, options.lanes)
    process = PublisherProcess(listening=socket, ports=ports, settings=settings, lanes=lanes, spool=spool, stored=stored)
    ports.telemetry.log("info", "the publisher is ready", socket=socket.path, ack=options.ack, pid=os.getpid())
    manager.say(READY, f"STATUS=ack={options.ack}")
    return process.run(signals.asked, signals.woken, _Pulse(manager, signals.asked, options.drain).turned)


class _Pulse:
    """Reports to the service manager after each turn of the loop, and ends the process at a second signal."""

    def __init__(self, manager: ServiceManager, asked: Sequence[int], drain: float) -> None:
        self._manager, self._asked, self._drain = manager, asked, drain
        self._said, self._is_stopping = time.monotonic(), False

    def turned(self) -> None:
        """Note a turn of the loop."""
        now = time.monotonic()
        if self._manager.watchdog is not None and now - self._said >= self._manager.watchdog / 2:
            self._manager.say(ALIVE)
            self._said = now
        if self._asked and not self._is_stopping:
            self._is_stopping = True
            self._manager.say(STOPPING, f"EXTEND_TIMEOUT_USEC={int((self._drain + EXTENDED_S) * 1_000_000)}", "STATUS=draining")
        if len(self._asked) > 1:
            os._exit(128 + self._asked[1])


def allowed_users(names: Sequence[str]) -> frozenset[int]:
    """Return the ids of the users that may publish: the user of this process, and those of *names*.

    Raises:
        UsageError: this host does not know a user.
    """
    return frozenset({os.getuid(), *map(_user, names)})


def _user(name: str) -> int:
    if name.isascii() and name.isdigit():
        return int(name)
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        raise UsageError(f"--allow: this host has no user {name!r}; give the name or the id of one") from None


def deployment(app: Sedano, logs: str, environment: Mapping[str, str], sessions: Callable[..., Session] = Session) -> Ports:
    """Return the deployment of the *environment* with the brokers of *app*, whose calls end within `CALL_S`, with the telemetry of this
    process; *logs* names the adapter for its log, and *sessions* makes the session of AWS.

    Raises:
        ConfigurationError: the variables of the stage are missing or malformed.
    """

    def reporting(calls: Callable[[], Mapping[str, int]]) -> Telemetry:
        return worker_telemetry(environment, f"sedano/{app.name}", calls, logs=logs, service=SERVICE)

    with deadlines.chosen(CALL_S), preferring(app.brokers):
        if app.connect == AWS and environment.get("SEDANO_QUEUES"):
            session = sessions(connect_timeout=CALL_S / 2, read_timeout=CALL_S, retries={"total_max_attempts": 1})
            return ports_of(from_environment(environment), COMPONENT, session, reporting=lambda counts: reporting(lambda: dict(counts)))
        ports, _ = connected(app.connect, app.brokers)
    return replace(ports, telemetry=reporting(ports.telemetry.calls))


def _spool(app: Sedano, ack: str) -> Spool | None:
    """Return the spool of *app* on this host; None if it has no spool that *ack* needs."""
    place = spool_folder.place(app.name)
    if place is not None:
        spool = Spool(place)
        return spool if ack == STORED or spool.exists() else None
    if ack == STORED:
        raise UsageError(f"--ack stored: this host has no spool (SEDANO_SPOOL={spool_folder.OFF}, or AWS Lambda); write --ack sent")
    return None


def _stored(ports: Ports, spool: Spool | None, lanes: int) -> SpoolLanes | None:
    """Return the lanes that send what *spool* has, also messages that an earlier publisher has stored."""
    if spool is None:
        return None
    publisher = Publisher(ports.queues, ports.timers, ports.clock, ports.entropy, ports.telemetry)
    return SpoolLanes(
        spool=spool, publisher=publisher, clock=ports.clock, telemetry=ports.telemetry, lanes=lanes, seconds=deadlines.PATIENCE_S
    )  # fmt: skip


def _most_programs() -> int:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_PROGRAMS + FILES_LEFT
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return MOST_PROGRAMS if soft == resource.RLIM_INFINITY else max(1, min(MOST_PROGRAMS, soft - FILES_LEFT))
