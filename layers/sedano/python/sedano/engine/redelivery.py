"""Redelivery: a message that is given back arrives again after a while, or earlier if the queue refuses the request; it is never lost."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sedano.engine.batch import Batch, Job
from sedano.errors import MessageRefused, SedanoError
from sedano.model import refusals
from sedano.ports import Delivery, Ports

FOREIGN = frozenset({refusals.UNKNOWN_TASK, refusals.UNKNOWN_EVENT, refusals.NEWER})
"""Refusals of names that another version of this deployment may know: during a deployment old and new functions read the same queue."""
FOREIGN_HOLD_S = 30.0
"""How long such a message is held back before another function may look at it."""
FOREIGN_RECEIVES = 4
"""Receives after which such a message is parked: below the queue's redrive limit, so that its reason is kept."""
ANEW_AFTER = 10
"""Receipts after which a message with a short wait is sent again too: half of the queue's redrive limit."""

MOST_NAMESAKES = 3
"""How many names are listed; the reason of a parked message has 512 characters."""


def unknown(kind: str, name: str, known: Collection[str]) -> str:
    """Return the text that this deployment has no *kind* of this *name*, with a suggestion from *known*: the same name in another module.

    A program names its own tasks by its own module name: for `python shop/tasks.py` that is `tasks`, while workers import `shop.tasks`.
    """
    told = f"no {kind} {name!r} in this deployment"
    if name.startswith("__main__."):
        return f"{told}; declare tasks in a module, not in a console"
    last = name.rpartition(".")[2]
    namesakes = sorted(one for one in known if one.rpartition(".")[2] == last and not one.startswith("sedano."))
    within = next((one for one in namesakes if one.endswith(f".{name}")), "")
    if within:
        module = within.removesuffix(name) + name.partition(".")[0]
        return f"{told}; {within!r} is known: start the program with `python -m {module}` to publish by that name"
    if namesakes:
        return f"{told}; known names with the same last part: {', '.join(map(repr, namesakes[:MOST_NAMESAKES]))}"
    from sedano.errors.celery_names import misspelt

    near = misspelt(name, known)
    return f"{told}; did you mean {near!r}?" if near else told


def refuse(ports: Ports, delivery: Delivery, refused: MessageRefused, batch: Batch) -> None:
    """Park *delivery* with the reason; first hold it back for a while if another version of this deployment may know it."""
    if refused.code not in FOREIGN or delivery.receives >= FOREIGN_RECEIVES:
        batch.park(delivery, refused.code, refused.field, refused.detail)
        return
    ports.telemetry.count("MessagesHeld", reason=refused.code)
    ports.telemetry.log("warning", "message held back for a function that may know it", reason=str(refused))
    hold_back(ports, delivery, FOREIGN_HOLD_S, batch)


def hold_back(ports: Ports, delivery: Delivery, seconds: float, batch: Batch) -> None:
    """Give *delivery* back and let it be delivered again in *seconds*; a direct call comes from no queue that could."""
    batch.give_back(delivery)
    if not delivery.receipt:
        return
    try:
        ports.queues.hold(delivery, seconds)
    except SedanoError as error:
        ports.telemetry.log("warning", "message not held back; it is redelivered sooner", message_id=delivery.message_id, error=str(error))


def put_back(job: Job, batch: Batch) -> None:
    """Deliver *job*, for whose body there was no time, again at once: as a new message if its receipts count towards poison."""
    if job.delivery.serial_key is None and (job.mode != "claimed" or job.delivery.receives >= ANEW_AFTER):
        batch.defer(job.delivery, seconds=0.0)
    else:
        batch.give_back(job.delivery)


def rounds(jobs: Sequence[Job]) -> Sequence[Sequence[Job]]:
    """Return which *jobs* are claimed and run together: new ones all at once, each redelivered one alone after them.

    One of the redelivered messages may have killed the worker. Processed alone, it affects no other: the others are finished before it is
    claimed, or not claimed yet, so only the claims of the poison message are counted. Their order rotates with each delivery, so that
    no message stays behind a poison message without a claim.
    """
    again = [job for job in jobs if job.delivery.receives > 1]
    if not again:
        return [jobs]
    new = [job for job in jobs if job.delivery.receives <= 1]
    turn = -1 if again[0].delivery.receives % 2 == 0 else 1
    return [*([new] if new else []), *([job] for job in again[::turn])]
