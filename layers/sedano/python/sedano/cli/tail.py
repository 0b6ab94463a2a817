"""Prints the latest events of the history: what `sedano tail` does."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sedano.app import Sedano
from sedano.cli.printer import say, say_json
from sedano.model.messages.timestamps import shown
from sedano.views.tail import RECORDER_S, EventLine, EventTail, Look


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
    """Print the events of the history, and say how far back and how live they are."""
    ports = app.outlet.ports
    following = f"; a look every {asked.every:g} s reads them all again" if asked.follow else "; --follow looks again"
    say(
        f"sedano tail: events of {asked.days} day{'s' * (asked.days != 1)} (UTC), today included, in causal order; a deployed stage writes "
        f"them up to {RECORDER_S} s after they occurred{following}",
        err=True,
    )
    looking, begun, first = EventTail(ports, asked.days), ports.clock.now(), True
    while True:
        before = dict(ports.telemetry.calls())
        look = looking.look()
        _show(look, asked, asked.limit if first else None)
        _say_reads(look, before, ports.telemetry.calls())
        first = False
        if not asked.follow or (asked.seconds is not None and ports.clock.now() + asked.every > begun + asked.seconds):
            return
        ports.clock.sleep(asked.every)


def _show(look: Look, asked: TailOptions, most: int | None) -> None:
    found = [one for one in look.events if not asked.wanted or {one.type, one.id, one.name} & {*asked.wanted}]
    for one in found if most is None else found[-most:]:
        if asked.as_json:
            say_json(one._asdict())
        else:
            say(_text(one))
    sys.stdout.flush()


def _text(one: EventLine) -> str:
    parts = [shown(one.at), one.type, one.name, one.id, one.worker, one.error, "(late)" if one.late else ""]
    return "  ".join(part for part in parts if part)


def _say_reads(look: Look, before: Mapping[str, int], after: Mapping[str, int]) -> None:
    calls = {name: number - before.get(name, 0) for name, number in after.items() if number > before.get(name, 0)}
    counted = ", ".join(f"{number} {name}" for name, number in sorted(calls.items())) or "no AWS call"
    unreadable = f", {look.unreadable} lines cannot be read" if look.unreadable else ""
    say(f"sedano tail: read {look.objects} objects ({counted}){unreadable}", err=True)
