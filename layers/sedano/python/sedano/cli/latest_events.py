"""Prints the latest events of the history: the work of `sedano tail`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from sedano.app import Sedano
from sedano.cli.printer import say, say_json
from sedano.cli.tables import Instant, for_json, head, row
from sedano.views.tail import RECORDER_S, EventTail, TailPage
from sedano.views.terminal_screen import price

HEAD = ("AT", "TYPE", "TASK", "ID", "WORKER", "ERROR", "LATE")


class TailOptions(NamedTuple):
    """The options: only events whose type, task id or task name is one of *wanted*; the first look prints the latest *limit*.

    *follow*: look again *every* so many seconds, for *seconds* in all, or until Ctrl-C.
    """

    wanted: Sequence[str]
    limit: int
    days: int
    follow: bool
    every: float
    seconds: float | None
    as_json: bool


def tail(app: Sedano, asked: TailOptions) -> None:
    """Print the events of the history, and how far back and how recent they are."""
    ports = app.outlet.ports
    following = f"; it reads all of them again every {asked.every:g} s" if asked.follow else "; --follow reads again"
    say(
        f"sedano tail: events of {asked.days} day{'s' * (asked.days != 1)} (UTC), today included, in causal order; a deployed stage writes "
        f"them up to {RECORDER_S} s after they occurred{following}",
        err=True,
    )
    looking, begun, most = EventTail(app, asked.days), ports.clock.now(), asked.limit
    if not asked.as_json:
        head(HEAD)
    while True:
        look = looking.look()
        _show(look, asked, most)
        most = len(look.events)
        if not asked.follow or (asked.seconds is not None and ports.clock.now() + asked.every > begun + asked.seconds):
            return
        ports.clock.sleep(asked.every)


def _show(look: TailPage, asked: TailOptions, most: int) -> None:
    """Print the last *most* wanted events of *look*, and the number of its reads."""
    found = [one for one in look.events if one.is_among(asked.wanted)]
    for one in found[-most:]:
        if asked.as_json:
            say_json(for_json({**one._asdict(), "at": Instant(one.at)}))
        else:
            row((Instant(one.at), one.type, one.name, one.id, one.worker, one.error, "late" if one.late else ""))
    sys.stdout.flush()
    unreadable = f"; {look.unreadable} lines cannot be read" if look.unreadable else ""
    say(f"sedano tail: {price(look.about)}{unreadable}", err=True)
