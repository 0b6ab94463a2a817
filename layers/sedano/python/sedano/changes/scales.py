"""The number of bodies at once of a queue, over all its hosts."""

from __future__ import annotations

from functools import partial

from sedano.app import Sedano
from sedano.changes.pauses import valid
from sedano.changes.plan import AppliedChange, ChangePlan, Effect
from sedano.changes.targets import found
from sedano.errors import UsageError
from sedano.model.cluster.scale import Servers, checked_number, lambda_share, servers, shares
from sedano.model.pauses import QUEUE

AS_STARTED = "as started"


def scale(app: Sedano, name: str, number: int | None) -> ChangePlan:
    """Return the plan to set the bodies at once of the queue *name* to *number*; None: the number that its hosts were started with.

    Raises:
        UnknownQueue: the app has no such queue.
        UsageError: the number is not valid, or the queue is not scaled and *number* is None.
    """
    queue = found(app, name, QUEUE)[1]
    before = app.control.hello().wished.get(queue)
    if number is None and before is None:
        raise UsageError(f"{queue}: it is not scaled, so there is nothing to restore")
    after = AS_STARTED if number is None else f"{valid(checked_number, number)} bodies at once"
    line = f"scale 1 queue, {queue}: {after}; {AS_STARTED if before is None else before} until now"
    lines = [line] if number is None else [line, *_parts(app, queue, number)]
    make = partial(_scaled, app, queue, number, f"queue {queue} {after}")
    return ChangePlan(verb="scale", what=f"{queue}: {after}", lines=tuple(lines), number=0, word=queue, make=make)


def _parts(app: Sedano, queue: str, number: int) -> list[str]:
    """Return a line for each live host with its share of *number*."""
    ports = app.outlet.ports
    seen: Servers = servers(ports.members.read(), ports.clock.now())
    of_processes = shares(queue, number, seen)
    lines = [f"{name} takes {share} within 2 s" for name, share in of_processes.items()]
    if queue in seen.lambdas:
        lines.append(f"Lambda takes {lambda_share(queue, number, seen)} in the next round of the controller")
    return lines or ["no live worker serves it; its hosts take their shares when they start"]


def _scaled(app: Sedano, queue: str, number: int | None, text: str) -> AppliedChange:
    valid(app.control.scale, queue, number)
    return AppliedChange((Effect(text, {"queue": queue, "bodies": AS_STARTED if number is None else number}),))
