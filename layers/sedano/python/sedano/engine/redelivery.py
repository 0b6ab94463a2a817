"""Giving a message back: its queue delivers it again after a while, or earlier if the queue refuses the request; it is never lost."""

from __future__ import annotations

from collections.abc import Collection

from sedano.engine.batch import Batch, Job
from sedano.errors import MessageRefused, SedanoError
from sedano.model import refusals
from sedano.ports import Delivery, Ports

FOREIGN = frozenset({refusals.UNKNOWN_TASK, refusals.UNKNOWN_EVENT, refusals.NEWER})
"""Refusals of things that another version of this deployment may know: during a deployment old and new functions read the same queue."""
FOREIGN_HOLD_S = 30.0
"""How long such a message is held back before another function may look at it."""
FOREIGN_RECEIVES = 4
"""Receives after which such a message is set aside: below the queue's redrive limit, so the reason is kept."""
ANEW_AFTER = 10
"""Receipts after which a short wait is sent anew too: half of what would set the message aside."""

MOST_NAMESAKES = 3
"""How many are named; the reason of a parked message has 512 characters."""


def unknown(kind: str, name: str, known: Collection[str]) -> str:
    """Say that this deployment has no *kind* of this *name*, and suggest one of those *known*: the same name in another module.

    A program publishes its own tasks by the module that it is itself: `python shop/tasks.py` is `tasks` where workers import `shop.tasks`.
    """
    told = f"no {kind} {name!r} in this deployment"
    if name.startswith("__main__."):
        return f"{told}; put what is typed at a console into a module"
    last = name.rpartition(".")[2]
    namesakes = sorted(one for one in known if one.rpartition(".")[2] == last and not one.startswith("sedano."))
    within = next((one for one in namesakes if one.endswith(f".{name}")), "")
    if within:
        module = within.removesuffix(name) + name.partition(".")[0]
        return f"{told}; {within!r} is known: a program that is begun with `python -m {module}` publishes by that name"
    if namesakes:
        return f"{told}; known by that last name: {', '.join(map(repr, namesakes[:MOST_NAMESAKES]))}"
    from sedano.errors.celery_names import misspelt

    near = misspelt(name, known)
    return f"{told}; did you mean {near!r}?" if near else told


def refuse(ports: Ports, delivery: Delivery, refused: MessageRefused, batch: Batch) -> None:
    """Set *delivery* aside with the reason; hold it back for a while first when another version of this deployment may know it."""
    if refused.code not in FOREIGN or delivery.receives >= FOREIGN_RECEIVES:
        batch.park(delivery, refused.code, refused.field, refused.detail)
        return
    ports.telemetry.count("MessagesHeld", reason=refused.code)
    ports.telemetry.log("warning", "message held back for a function that may know it", reason=str(refused))
    hold_back(ports, delivery, FOREIGN_HOLD_S, batch)


def hold_back(ports: Ports, delivery: Delivery, seconds: float, batch: Batch) -> None:
    """Give *delivery* back and let it be delivered again in *seconds*."""
    batch.give_back(delivery)
    try:
        ports.queues.hold(delivery, seconds)
    except SedanoError as error:
        ports.telemetry.log("warning", "message not held back; it is redelivered sooner", message_id=delivery.message_id, error=str(error))


def put_back(job: Job, batch: Batch) -> None:
    """Deliver *job*, for whose body there was no time, again at once: as a new message where its receipts are counted towards poison."""
    if job.delivery.serial_key is None and (job.mode != "claimed" or job.delivery.receives >= ANEW_AFTER):
        batch.defer(job.delivery, seconds=0.0)
    else:
        batch.give_back(job.delivery)
