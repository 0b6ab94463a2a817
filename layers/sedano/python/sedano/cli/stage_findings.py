"""Checks this machine and a stage: the work of `sedano doctor`. Each step yields findings, and a failed step does not end the others."""

from __future__ import annotations

import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from importlib import metadata

from sedano import __version__
from sedano.app import Sedano
from sedano.cli.console import app_of
from sedano.cli.exits import Exit
from sedano.cli.findings import show
from sedano.cli.settings import Settings
from sedano.deploy import checkup
from sedano.deploy.account import AccountError, opened
from sedano.deploy.output_variables import variables
from sedano.engine.publisher.spool import every
from sedano.errors import ConfigurationError, NotAllowed, SedanoError
from sedano.model.queues import messages_wait
from sedano.ports import PARKED, Ports, command_queue
from sedano.ports.absent import has
from sedano.views.findings import FAULT, OK, WARNING, Finding

_NEEDED = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*([<>=!~,.0-9 ]*)")
_BOUND = re.compile(r"(>=|<)\s*([0-9.]+)")
_NETWORK = "check the network, and whether the stage is deployed"
LEAST_PYTHON = (3, 11)


def doctor(settings: Settings, *, local: bool, strict: bool, as_json: bool) -> Exit:
    """Print the findings about this machine and, unless *local*, about the stage."""
    findings = [*machine(), *_settings(settings)]
    app = _app(settings, findings)
    if not local:
        findings += stage(settings, app)
    return show("doctor", findings, strict=strict, as_json=as_json)


def machine() -> Iterator[Finding]:
    """Yield the findings about Python, the packages of sedano and the messages that wait on this machine."""
    if sys.version_info[:2] >= LEAST_PYTHON:
        yield Finding("python", OK, f"{platform.python_version()}, {sys.executable}")
    else:
        yield Finding("python", FAULT, f"{platform.python_version()} is too old", "install Python 3.11 or later")
    yield Finding("sedano", OK, __version__)
    for name, bounds in sorted(_needed().items()):
        yield _package(name, bounds)
    try:
        waiting = sum(one.waiting for one in every())
    except SedanoError as wrong:
        yield Finding("spool", FAULT, str(wrong), "correct that folder: messages that a queue does not accept are stored there")
        return
    if waiting:
        do = "look with `sedano spool list`, send with `sedano spool send`"
        yield Finding("spool", WARNING, f"{messages_wait(waiting)} on this machine", do)
    else:
        yield Finding("spool", OK, "no message waits on this machine")


def _needed() -> dict[str, str]:
    """Return the packages that sedano needs, and click, with the bounds of their versions; a source tree declares none."""
    try:
        lines = metadata.requires("sedano") or []
    except metadata.PackageNotFoundError:
        lines = ["aws-lambda-powertools", "boto3", "click"]
    found = [_NEEDED.match(line) for line in lines if "extra ==" not in line or "click" in line]
    return {one[1]: one[2] for one in found if one is not None}


def _package(name: str, bounds: str) -> Finding:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding(f"package {name}", FAULT, "is not installed", 'run `pip install "sedano[dev]"` in this environment')
    if not fits(version, bounds):
        do = 'run `pip install --upgrade "sedano[dev]"` in this environment'
        return Finding(f"package {name}", FAULT, f"{version} is not {bounds.strip()}", do)
    return Finding(f"package {name}", OK, version)


def fits(version: str, bounds: str) -> bool:
    """Return whether *version* lies within *bounds* such as ``>=3.37,<4``; only ``>=`` and ``<`` count."""
    own = _parts(version)
    return all((own >= _parts(text)) if sign == ">=" else (own < _parts(text)) for sign, text in _BOUND.findall(bounds))


def _parts(version: str) -> tuple[int, ...]:
    found = re.match(r"[0-9]+(?:\.[0-9]+)*", version)
    return tuple(map(int, found[0].split("."))) if found is not None else ()


def _settings(settings: Settings) -> Iterator[Finding]:
    for name, one in {**settings.values, "code": settings.values["code"]._replace(value=str(settings.code))}.items():
        yield Finding(f"setting {name}", OK, f"{'not set' if one.value is None else one.value}, from {one.source}")


def _app(settings: Settings, findings: list[Finding]) -> Sedano | None:
    """Return the app, or None; add the finding about it to *findings*."""
    try:
        app = app_of(settings.app, settings.code)
    except ConfigurationError as wrong:
        findings.append(Finding("app", FAULT, str(wrong), "correct that; `sedano check` checks the app in more detail"))
        return None
    findings.append(Finding("app", OK, f"{app.name} imports from {settings.code}"))
    return app


def stage(settings: Settings, app: Sedano | None, environment: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """Yield the findings about the credentials, the clock, the stage and, with an *app*, its queues and tables."""
    values = settings.values
    try:
        session = opened()
    except AccountError as wrong:
        yield Finding("credentials", FAULT, str(wrong), checkup.NO_ACCOUNT)
        return
    region, account = values["region"].value, values["account"].value if "account" in values else None
    where, finding = checkup.credentials(session, settings.stage, region, account)
    yield finding
    if where is None:
        return
    yield checkup.clock(session.client("sts", region_name=where.region), time.time)
    cloudformation = session.client("cloudformation", region_name=where.region)
    yield from checkup.stacks(cloudformation, where, settings.stage)
    try:
        found = variables(cloudformation, where, settings.stage)
    except AccountError:
        return  # the stacks above say why
    yield checkup.shell(found, environment)
    yield checkup.library(cloudformation, session.client("lambda", region_name=where.region), settings.stage, __version__)
    if app is not None:
        yield from _reached(app, found)


def _reached(app: Sedano, found: Mapping[str, str]) -> Iterator[Finding]:
    """Yield whether the queues and tables that the variables *found* name can be reached."""
    before = {name: os.environ.get(name) for name in found}
    os.environ.update(found)
    try:
        for one in reach(app.outlet.ports, app.queues):
            yield one._replace(do=f"{one.do}; {_drift(one.checked, found)}") if one.do == _NETWORK else one
    except SedanoError as wrong:
        yield Finding("stage", FAULT, str(wrong), "correct that, then run `sedano doctor` again")
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _drift(checked: str, found: Mapping[str, str]) -> str:
    """Return the command that shows whether the *checked* resource was deleted outside CloudFormation."""
    part = "core" if checked.startswith("queue") else "state"
    name = f"sedano-{found.get('SEDANO_STAGE', 'dev')}-{part}"
    return f"`aws cloudformation detect-stack-drift --stack-name {name}` finds a resource that was deleted by hand"


def reach(ports: Ports, queues: tuple[str, ...]) -> Iterator[Finding]:
    """Yield for each queue, table and bucket whether it answers; each is one call that changes nothing."""
    for name in queues:
        yield _answered(f"queue {name}", partial(_load, ports, command_queue(name)))
    yield _parked(ports)
    yield _answered("ledger", lambda: f"answers; {len(ports.ledger.read(['sedano-doctor']))} records of the name sedano-doctor")
    if has(ports.control):
        yield _answered("control table", lambda: f"answers; {len(ports.control.read().paused)} pauses")
    if has(ports.events):
        today = datetime.fromtimestamp(ports.clock.now(), UTC).strftime("%Y-%m-%d")
        yield _answered("history", lambda: f"has {'' if next(iter(ports.events.read(today)), None) else 'no '}events of today")


def _load(ports: Ports, key: str) -> str:
    load = ports.consumers.load(key)
    return f"{load.waiting} wait, {load.running} run"


def _parked(ports: Ports) -> Finding:
    found = _answered("queue of parked messages", lambda: _load(ports, PARKED))
    if found.grade == OK and found.found != "0 wait, 0 run":
        return found._replace(grade=WARNING, do="look with `sedano parked list`")
    return found


def _answered(what: str, ask: Callable[[], str]) -> Finding:
    """Return the finding of *ask*, or the fault that it raised."""
    try:
        return Finding(what, OK, ask())
    except NotAllowed as wrong:
        return Finding(what, FAULT, str(wrong), f"ask for the permission {wrong.action}")
    except SedanoError as wrong:
        return Finding(what, FAULT, str(wrong), _NETWORK)
