"""Sending parked messages again: those of one queue, with one reason, or all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from sedano.api.polls import again as repoll
from sedano.app import Sedano
from sedano.changes.plan import AppliedChange, ChangePlan, Effect, hindered
from sedano.engine.parked.redrive import MOST, Going, give_back, parked, planned
from sedano.engine.parked.redrive import redrive as send
from sedano.engine.reruns import Rerun
from sedano.errors import SedanoError
from sedano.host.sources import answering, reading
from sedano.ports import command_queue

NEW_IDS = ", under new ids: these tasks have ended"


def redrive(app: Sedano, queue: str | None, why: str | None, most: int = MOST) -> ChangePlan:
    """Return the plan to resend the messages of *queue* that were parked for the reason *why*; it holds these messages.

    Raises:
        Unavailable: the queue or the ledger did not answer.
    """
    ports, what = app.outlet.ports, f"{queue or 'every queue'} {why or 'every reason'}"
    key = None if queue is None else command_queue(queue)
    some = parked(ports, lambda one: key in (None, one.queue) and why in (None, one.reason), most)
    if not some:
        return hindered("redrive", what, "no parked message matches; `sedano parked list` shows the reasons")
    going = planned(ports, some, app.registry)
    number = sum(one.error is None for one in going)
    lines = (f"send {number} parked messages again, of {len(some)}", *counts(going))
    return ChangePlan(
        verb="redrive", what=what, lines=lines, number=number, word=str(number), make=partial(sent, app, going),
        drop=partial(give_back, ports, some),
    )  # fmt: skip


def counts(going: Sequence[Going]) -> tuple[str, ...]:
    """Return how many messages can be sent, a line for each task and queue."""
    able = [one for one in going if one.error is None]
    counted = Counter((one.one.name or "unreadable", one.queue, bool(one.reruns)) for one in able)
    return tuple(f"{n} of {name} to {queue}{NEW_IDS if ended else ''}" for (name, queue, ended), n in sorted(counted.items()))


def sent(app: Sedano, going: Sequence[Going]) -> AppliedChange:
    """Send the messages in *going* that are not refused; the others stay parked."""
    answers = send(app.outlet.ports, going, answering(app).again, reading(app).again, lambda name, text: repoll(app, name, text))
    effects = tuple(effect for one, error in zip(going, answers, strict=True) if error is None for effect in _effects(one))
    return AppliedChange(effects, staying(going, answers))


def staying(going: Sequence[Going], errors: Sequence[SedanoError | None]) -> tuple[str, ...]:
    """Return a line for each message that stays parked, with the reason."""
    some = ((each.one, error) for each, error in zip(going, errors, strict=True) if error is not None)
    return tuple(f"{one.task_id or one.message_id} stays parked: {error}" for one, error in some)


def rerun_effect(rerun: Rerun) -> Effect:
    """Return the effect of running an ended task again: it names the id of the new run."""
    new = rerun.command.task_id
    text = f"{rerun.ended_id} runs again as {new}, sent to {rerun.queue}"
    return Effect(text, {"id": rerun.ended_id, "queue": rerun.queue, "rerun": new})


def _effects(going: Going) -> list[Effect]:
    named = going.one.task_id or going.one.message_id
    plain = Effect(f"{named} sent to {going.queue}", {"id": named, "queue": going.queue})
    return list(map(rerun_effect, going.reruns)) or [plain]
