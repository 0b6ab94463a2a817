"""Direct calls at the program: a task becomes a sealed message, as for a queue, and goes to the worker function instead."""

from __future__ import annotations

from typing import NamedTuple

from sedano.engine.drafts import CommandDraft
from sedano.engine.publisher.publisher import Outlet
from sedano.errors import KeyReused, MessageRefused, OptionError, ResultTimeout, Unavailable
from sedano.model import refusals
from sedano.model.direct_calls import AWAY, SEAL_S, DirectAnswer, DirectCall, audience, read_answer, request_text
from sedano.model.queues import is_fifo
from sedano.model.tasks.signature import Signature


class AnsweredCall(NamedTuple):
    """The draft of a called task, and the worker's answer."""

    draft: CommandDraft
    answer: DirectAnswer


def refuse_queued(outlet: Outlet, signature: Signature) -> None:
    """Raise `OptionError` where only a queue can do what *signature* asks for."""
    options, spec = signature.options, outlet.registry.tasks.get(signature.task)
    if options.countdown or options.eta is not None:
        raise OptionError("countdown, eta: a direct call runs now; publish a call for later with apply_async")
    if options.priority is not None:
        raise OptionError("priority: a direct call runs now, in no queue; publish the call with apply_async")
    if options.on_duplicate not in (None, "return"):
        raise OptionError(f"on_duplicate: {options.on_duplicate!r} needs a queue; a direct call returns the result of the first one")
    queue = options.queue or (spec.queue if spec is not None else outlet.registry.queue_of(signature.task))
    if is_fifo(queue):
        raise OptionError(f"queue: {queue!r} keeps order, and a direct call has no place in it; publish it with delay or apply_async")
    limits = spec.limits if spec is not None else None
    if limits is not None and (limits.debounce or limits.batch is not None):
        raise OptionError(f"{signature.task}: it collects calls (debounce= or batch=), which a direct call does not wait for; use delay")


def call(outlet: Outlet, signature: Signature, seconds: float) -> AnsweredCall:
    """Call the worker with the task of *signature* and return its answer, waiting for at most *seconds*.

    Raises:
        MessageRefused: the worker refused it; nothing of it has run.
        KeyReused: its deduplication key was used before with other arguments, so this call has not run.
        ResultTimeout: the worker did not answer in time.
        Unavailable: the call could not be made, the worker ended without an answer, or the task could not run now and not wait either.
    """
    draft, message = outlet.compose(signature)
    body, task_id = message.outgoing.body, draft.command.task_id
    request = request_text(DirectCall(draft.queue, _seal(outlet, body, draft.queue), body))
    again = f"task {task_id}: {{}}; no queue keeps a direct call: call again with task_id={task_id!r}, which has no second effect"
    try:
        answer = read_answer(outlet.ports.direct_calls.call(request, seconds), task_id, draft.command.task)
    except ResultTimeout as late:
        raise ResultTimeout(again.format(late)) from late
    except Unavailable as away:
        raise Unavailable(again.format(away)) from away
    except ValueError as wrong:
        raise Unavailable(again.format(f"the worker's answer cannot be read ({wrong})")) from wrong
    if answer.refused is None:
        return AnsweredCall(draft, answer)
    code, field, detail = answer.refused
    if code == AWAY:
        raise Unavailable(again.format(detail))
    if code == refusals.TAKEN and draft.keyed:
        raise KeyReused(task_id)
    raise MessageRefused(code, field, detail)


def _seal(outlet: Outlet, body: str, queue: str) -> str:
    """Return the seal of *body* for the worker of *queue*."""
    ports, now = outlet.ports, int(outlet.ports.clock.now())
    sealed = ports.seals.seal(body.encode(), audience(queue), now, now + SEAL_S)
    if not sealed:
        raise Unavailable("invoke: the keys of the stage could not be read, so the call cannot be sealed; the log has the reason")
    return sealed
