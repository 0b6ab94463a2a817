"""The states of health checks, and built-in checks (memory, disk, DynamoDB, SQS, HTTP) for `@app.health_check(…)`.

    web = app.health_check("web", every=15)
    web(checks.http("https://api.example.com/charges", method="POST", content_type="application/json"))
    room = app.health_check("room")
    room(checks.memory(least_mb=200))
    room(checks.disk("/tmp", least_mb=500))

A check that cannot read its source (a missing directory or system file) raises; the error is logged and otherwise ignored, as for any
failing check.
"""

from __future__ import annotations

import os
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from sedano.engine.publisher.publisher import Outlet
from sedano.errors import OptionError, PortMissing, SedanoError
from sedano.model.health import DEGRADED as DEGRADED
from sedano.model.health import HEALTHY as HEALTHY
from sedano.model.health import INSECURE as INSECURE
from sedano.model.health import UNAVAILABLE as UNAVAILABLE
from sedano.model.health import UNHEALTHY as UNHEALTHY
from sedano.ports import command_queue

Found = tuple[str, str]
"""A state, and the reason in a few words."""
Look = Callable[[], Found]
MB = 1_000_000
ALMOST = 0.8
"""If an answer takes more than this share of its time limit, the endpoint counts as degraded."""
_MEMINFO = Path("/proc/meminfo")


class Looks(Protocol):
    """The part of an app that a check of its deployment needs."""

    @property
    def outlet(self) -> Outlet:
        """The publisher."""

    @property
    def queues(self) -> tuple[str, ...]:
        """The names of its command queues."""


def memory(least_mb: float) -> Look:
    """Return a check: healthy while at least *least_mb* megabytes of memory are available on this machine, else unhealthy."""
    _require_positive("least_mb", least_mb)

    def look() -> Found:
        lines = dict(line.split(":", 1) for line in _MEMINFO.read_text().splitlines() if ":" in line)
        left = int(lines["MemAvailable"].split()[0]) * 1024 / MB
        return (HEALTHY if left >= least_mb else UNHEALTHY), f"{left:.0f} MB of memory are available, {least_mb:g} are needed"

    return look


def disk(path: str, least_mb: float) -> Look:
    """Return a check: healthy while at least *least_mb* megabytes are free on *path*, else unhealthy."""
    _require_positive("least_mb", least_mb)

    def look() -> Found:
        found = os.statvfs(path)
        left = found.f_bavail * found.f_frsize / MB
        return (HEALTHY if left >= least_mb else UNHEALTHY), f"{left:.0f} MB are free on {path}, {least_mb:g} are needed"

    return look


def dynamodb(app: Looks, slow: float = 1.0) -> Look:
    """Return a check that reads an item of the control table: degraded if that takes more than *slow* seconds, unhealthy if it fails."""
    _require_positive("slow", slow)
    return lambda: _asked(app.outlet.ports.control.read, slow, "the control table")


def sqs(app: Looks, slow: float = 1.0) -> Look:
    """Return a check that reads the depth of the first command queue: degraded if that takes more than *slow* seconds, unhealthy if it
    fails."""
    _require_positive("slow", slow)
    return lambda: _asked(lambda: app.outlet.ports.consumers.load(command_queue(app.queues[0])), slow, f"the queue {app.queues[0]}")


def http(
    url: str, *, method: str = "GET", content_type: str = "", timeout: float = 2.0, headers: Mapping[str, str] | None = None,
    context: ssl.SSLContext | None = None,
) -> Look:  # fmt: skip
    """Return a check that sends an OPTIONS request to *url* and maps the answer to the CEP's five states.

    * healthy: 200 in good time, over TLS that is valid, and *method* and *content_type* are allowed, where the answer lists them
    * degraded: another status below 500, or an answer that takes more than four fifths of *timeout*
    * insecure: an invalid certificate, or a failed TLS handshake
    * unhealthy: a status of 500 or more, no answer within *timeout* seconds, no address for the name, no connection
    * permanently unavailable: 404, or the method or content type is not allowed

    Args:
        url: the http or https address.
        method: the method of the task's own requests; it must be listed in the answer's `Allow`.
        content_type: the type of the data that the task sends; it must be listed in the answer's `Accept`. Empty: not checked.
        timeout: seconds to wait for the answer.
        headers: headers of the OPTIONS request, such as an API key.
        context: the TLS context; by default one with the system's certificates.

    Raises:
        OptionError: *url* is not an http or https address, or *timeout* is not a number above 0.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise OptionError(f"url: {url!r} is not an http or https address")
    _require_positive("timeout", timeout)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    secure = (context or ssl.create_default_context()) if parts.scheme == "https" else None
    host, port = parts.hostname, parts.port

    def look() -> Found:
        began = time.monotonic()
        connection = HTTPSConnection(host, port, timeout=timeout, context=secure) if secure else HTTPConnection(host, port, timeout=timeout)
        try:
            connection.request("OPTIONS", path, headers=dict(headers or {}))
            answer = connection.getresponse()
            answer.read()
            said = {name.lower(): value for name, value in answer.getheaders()}
            return _judged(answer.status, said, method, content_type, (time.monotonic() - began) / timeout)
        except ssl.SSLError as error:
            return INSECURE, f"TLS with {host}: {error}"
        except (TimeoutError, socket.gaierror, ConnectionError, HTTPException, OSError) as error:
            return UNHEALTHY, f"{host}: {type(error).__name__}: {error}"
        finally:
            connection.close()

    return look


def _judged(status: int, said: Mapping[str, str], method: str, content_type: str, share: float) -> Found:
    """Return the state for an answer with this *status* that took this *share* of its time limit."""
    if status == 404 or status == 405:
        return UNAVAILABLE, f"it answers {status}"
    if status >= 500:
        return UNHEALTHY, f"it answers {status}"
    if not _allows(said.get("allow"), method):
        return UNAVAILABLE, f"{method} is not allowed, only {said['allow']}"
    if content_type and not _allows(said.get("accept"), content_type):
        return UNAVAILABLE, f"{content_type} is not accepted, only {said['accept']}"
    if not 200 <= status < 300:
        return DEGRADED, f"it answers {status}"
    if share > ALMOST:
        return DEGRADED, f"it took {share:.0%} of its time limit"
    return HEALTHY, f"it answers {status}"


def _allows(listed: str | None, wanted: str) -> bool:
    """Return whether *wanted* is among the values of a header; an answer without the header forbids nothing."""
    if listed is None:
        return True
    every = {one.split(";")[0].strip().lower() for one in listed.split(",")}
    return bool({wanted.lower(), "*", "*/*", wanted.lower().split("/")[0] + "/*"} & every)


def _asked(ask: Callable[[], object], slow: float, what: str) -> Found:
    began = time.monotonic()
    try:
        ask()
    except PortMissing:
        raise
    except SedanoError as error:
        return UNHEALTHY, f"{what}: {error}"
    took = time.monotonic() - began
    return (HEALTHY if took <= slow else DEGRADED), f"{what} answered in {took * 1000:.0f} ms"


def _require_positive(name: str, value: float) -> None:
    if not value > 0:
        raise OptionError(f"{name}: {value!r} is not a number above 0")
