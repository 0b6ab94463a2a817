"""Prints the workers and the latest tasks: what `sedano cluster` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sedano.cli.printer import Row, say, say_json, table
from sedano.cli.tables import Instant, for_json
from sedano.model.history.registers import Timeline
from sedano.model.messages.timestamps import shown
from sedano.ports import Ports
from sedano.views.cluster import UNNAMED, ClusterView, cluster


def show(ports: Ports, latest: int, days: int, as_json: bool) -> None:
    """Print the *latest* tasks and the counts of so many *days*."""
    view = cluster(ports, latest, days)
    if as_json:
        say_json(for_json(_plain(view)))
    else:
        _show(view)


def _show(view: ClusterView) -> None:
    table(
        ("WORKER", "STATE", "LAST SEEN", "HOLDS"),
        [(m.name, m.state, shown(m.seen), ", ".join(m.holds)) for m in view.members],
    )
    for what, counted in (("state", view.by_state), ("task", view.by_type), ("worker", view.by_worker)):
        say("", f"by {what}: " + (_counts(counted) or "nothing yet"))
    say("")
    table(("TASK", "STATE", "ID", "WORKER", "AT"), _rows(view))
    if view.unreadable:
        say(f"{view.unreadable} event lines cannot be read; `sedano history build` lists them with the reasons", err=True)


def _rows(view: ClusterView) -> Iterable[Row]:
    for task in view.latest:
        yield str(task.fields["name"] or UNNAMED), task.state, task.uuid, task.worker or "", shown(max(task.times.values(), default=0.0))


def _counts(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counted.items()))


def _plain(view: ClusterView) -> dict[str, Any]:
    members = [{"name": m.name, "state": m.state, "heard_of": Instant(m.seen), "holds": m.holds} for m in view.members]
    latest = [{"id": t.uuid, "name": t.fields["name"], "state": t.state, "worker": t.worker, "times": _times(t)} for t in view.latest]
    counts = {"by_state": view.by_state, "by_type": view.by_type, "by_worker": view.by_worker}
    return {"at": Instant(view.at), "members": members, "latest": latest, **counts, "unreadable": view.unreadable}


def _times(task: Timeline) -> dict[str, Instant]:
    return {name: Instant(at) for name, at in task.times.items()}
