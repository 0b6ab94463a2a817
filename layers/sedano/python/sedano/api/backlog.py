"""The backlog of a program, by its name: `disk`, `memory`, `memory:1000`, `dynamodb:TABLE`, `dynamodb:TABLE@REGION` or `off`."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from typing import NamedTuple

from sedano.errors import ConfigurationError, OptionError
from sedano.ports.backlog import MOST, Backlog

SETTING = "SEDANO_BACKLOG"
DISK, MEMORY, DYNAMODB, OFF = "disk", "memory", "dynamodb", "off"
_FORMS = "disk, memory, memory:1000, dynamodb:TABLE, dynamodb:TABLE@eu-west-1, off"
_is_number = re.compile(r"[1-9][0-9]{0,6}").fullmatch
_is_table = re.compile(r"[A-Za-z0-9_.-]{3,255}(?:@[a-z0-9-]{1,32})?").fullmatch


class BacklogName(NamedTuple):
    """The *kind* of a backlog, and its place or size."""

    kind: str
    rest: str = ""


def named(text: object, option: str = "backlog") -> BacklogName:
    """Return the backlog that *text* names, the value of *option*.

    Raises:
        OptionError: it names none.
    """
    kind, colon, rest = text.partition(":") if isinstance(text, str) else ("", "", "")
    takes = {MEMORY: _is_number, DYNAMODB: _is_table}
    is_whole = takes[kind](rest) is not None if colon and kind in takes else kind in (DISK, MEMORY, OFF) and not colon
    if not is_whole:
        raise OptionError(f"{option}: {text!r} names no backlog; write one of {_FORMS}")
    return BacklogName(kind, rest)


def chosen(wanted: str | None) -> BacklogName:
    """Return the backlog that the environment names, else the one that the app names (*wanted*), else the disk.

    Raises:
        ConfigurationError: the variable names none.
    """
    text = os.environ.get(SETTING)
    try:
        return named(text, SETTING) if text else named(wanted or DISK)
    except OptionError as wrong:
        raise ConfigurationError(str(wrong)) from None


def backlog_of(app: str, wanted: str | None, on_disk: Callable[[str], Backlog | None]) -> Backlog | None:
    """Return the `chosen` backlog of *app*, on the host's disk by *on_disk*; None: the host has none.

    Raises:
        ConfigurationError: the variable names none, no Region is found, or a table is named without SEDANO_QUEUES.
    """
    kind, rest = chosen(wanted)
    if kind == MEMORY:
        from sedano.memory.backlog import MemoryBacklog

        return MemoryBacklog(int(rest or MOST))
    if kind == DYNAMODB:
        return _in_table(app, rest)
    return on_disk(app) if kind == DISK else None


def _in_table(app: str, place: str) -> Backlog:
    from sedano.aws.backlog import DynamoBacklog, client_for
    from sedano.aws.client.session import Session

    queues = os.environ.get("SEDANO_QUEUES")
    if not queues:
        raise ConfigurationError(
            f"backlog dynamodb:{place}: SEDANO_QUEUES is not set, so the messages of all stages would wait in one place; set the variables "
            "of the stage (`sedano outputs`), or another backlog, for example SEDANO_BACKLOG=disk"
        )
    table, _, region = place.partition("@")
    deployment = hashlib.sha256(queues.encode()).hexdigest()[:16]
    return DynamoBacklog(client_for(Session(), region or None), table, f"{app}#{deployment}")
