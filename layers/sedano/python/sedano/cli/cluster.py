"""`sedano cluster`: who works, and what was worked on, now.

    python -m sedano cluster
    python -m sedano cluster --latest 20 --json

Which app is meant: `--app module:attribute`, or `SEDANO_APP`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sedano.cli.console import Row, app_of, table, takes_app, whole
from sedano.cli.printer import say, say_json
from sedano.model.messages.timestamps import shown
from sedano.views.cluster import DAYS, LATEST, UNNAMED, ClusterView, cluster


def main(arguments: Sequence[str]) -> int:
    """Do what the command line says; return the exit code."""
    parser = argparse.ArgumentParser(prog="sedano cluster", description="the cluster now: its workers, and the latest tasks")
    takes_app(parser)
    parser.add_argument("--latest", type=whole(0), default=LATEST, metavar="N", help=f"show N tasks (default: {LATEST})")
    parser.add_argument("--json", action="store_true", help="as one JSON object")
    parser.add_argument("--days", type=whole(1), default=DAYS, metavar="N", help=f"count the tasks of N days, with today (default: {DAYS})")
    asked = parser.parse_args(arguments)
    view = cluster(app_of(asked).outlet.ports, asked.latest, asked.days)
    if asked.json:
        say_json(_plain(view))
    else:
        _show(view)
    return 0


def _show(view: ClusterView) -> None:
    table(
        ("WORKER", "STATE", "HEARD OF", "HOLDS"),
        [(m.name, m.state, shown(m.seen), ", ".join(m.holds)) for m in view.members],
    )
    for what, counted in (("state", view.by_state), ("task", view.by_type), ("worker", view.by_worker)):
        say("", f"by {what}: " + (_counts(counted) or "nothing yet"))
    say("")
    table(("TASK", "STATE", "ID", "WORKER", "AT"), _rows(view))
    if view.unreadable:
        say(f"{view.unreadable} event lines cannot be read; `sedano history build` sets them aside with their reasons", err=True)


def _rows(view: ClusterView) -> Iterable[Row]:
    for task in view.latest:
        yield str(task.fields["name"] or UNNAMED), task.state, task.uuid, task.worker or "", shown(max(task.times.values(), default=0.0))


def _counts(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counted.items()))


def _plain(view: ClusterView) -> dict[str, Any]:
    members = [{"name": m.name, "state": m.state, "heard_of": m.seen, "holds": m.holds} for m in view.members]
    latest = [{"id": t.uuid, "name": t.fields["name"], "state": t.state, "worker": t.worker, "times": t.times} for t in view.latest]
    counts = {"by_state": view.by_state, "by_type": view.by_type, "by_worker": view.by_worker}
    return {"at": view.at, "members": members, "latest": latest, **counts, "unreadable": view.unreadable}
