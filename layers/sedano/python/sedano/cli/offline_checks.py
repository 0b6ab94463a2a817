"""Checks an app without AWS: the work of `sedano check`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from sedano.cli.console import app_of
from sedano.cli.exits import Exit
from sedano.cli.findings import show
from sedano.cli.printer import say
from sedano.cli.settings import Settings
from sedano.deploy.cdk_environment import constructs, toolset
from sedano.deploy.context import context
from sedano.deploy.failure import DeployError
from sedano.deploy.steps import assembly_folder
from sedano.deploy.synthesis import synthesise
from sedano.errors import ConfigurationError, UsageError
from sedano.views.app_check import DEFAULT_TIMEOUT_S, checked
from sedano.views.findings import FAULT, OK, Finding


def check(settings: Settings, given: Mapping[str, str], *, deploy: bool, strict: bool, as_json: bool) -> Exit:
    """Print what is wrong with the app and its settings; with *deploy* make the templates of its stage as well.

    Raises:
        UsageError: no app is named.
    """
    if settings.app is None:
        app_of(None, settings.code)  # raises, and says where an app is named
    findings = [*_of_app(settings, given), *_of_settings(settings, given)]
    if deploy and not any(one.grade == FAULT for one in findings):
        findings += _of_templates(settings, given)
    elif deploy:
        say("sedano check: the templates were not made: correct the faults first", err=True)
    else:
        say("sedano check: packages and templates were not checked; --deploy makes them as `sedano deploy` does, without AWS", err=True)
    return show("check", findings, strict=strict, as_json=as_json)


def _of_app(settings: Settings, given: Mapping[str, str]) -> Iterator[Finding]:
    try:
        app = app_of(settings.app, settings.code)
    except ConfigurationError as wrong:
        yield Finding("app", FAULT, str(wrong), "correct the app; then check again")
        return
    yield Finding("app", OK, f"{settings.app} imports from {settings.code}")
    yield from checked(app, time.time(), _timeout(settings, given))


def _of_settings(settings: Settings, given: Mapping[str, str]) -> Iterator[Finding]:
    try:
        found = _context(settings, given)
    except UsageError as wrong:
        yield Finding("settings", FAULT, str(wrong), "correct pyproject.toml or the option")
        return
    ignored = Path(found["code"]) / ".sedanoignore"
    pins = Path(found.get("requirements") or Path(found["code"]) / "requirements.txt")
    yield Finding("settings", OK, f"stage {settings.stage}, {'with' if ignored.is_file() else 'without'} a .sedanoignore")
    if pins.is_file():
        yield Finding("packages", OK, f"those of {pins}")
    else:
        yield Finding("packages", OK, "none besides those of sedano, because there is no requirements.txt")


def _of_templates(settings: Settings, given: Mapping[str, str]) -> Iterator[Finding]:
    """Make the templates as a deployment does, and yield the reasons for which it would refuse."""
    try:
        found = constructs()
        tools = toolset(found, _note)
        facts = synthesise(_context(settings, given), assembly_folder(settings.folder, settings.stage), found, tools, _note)
    except (UsageError, DeployError) as wrong:
        yield Finding("deploy", FAULT, str(wrong), "correct it; `sedano deploy` refuses it as well")
        return
    yield Finding("deploy", OK, f"the templates of the stage {facts.stage} can be made; {facts.cost}")


def _context(settings: Settings, given: Mapping[str, str]) -> dict[str, str]:
    values = {name: one.value for name, one in settings.values.items()}
    return context(values, settings.app, settings.code, settings.folder, given)


def _timeout(settings: Settings, given: Mapping[str, str]) -> int:
    """Return the time limit of the stage's functions; an unreadable one is reported by `--deploy`."""
    found = str(given.get("timeout") or (settings.values["timeout"].value if "timeout" in settings.values else ""))
    return int(found) if found.isascii() and found.isdigit() else DEFAULT_TIMEOUT_S


def _note(*lines: str) -> None:
    say(*lines, err=True)
