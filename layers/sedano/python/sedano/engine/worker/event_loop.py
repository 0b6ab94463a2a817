"""The event loop that `async def` bodies of one batch share: ten tasks that wait a second cost one second.

Bound late by the front door: importing asyncio costs 40 ms of a cold start, and only programs with async tasks pay it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from sedano.engine.batch import Arguments, Batch, Held, Later, Ran
from sedano.engine.task_context import CURRENT, TaskContext
from sedano.engine.task_log import TELEMETRY
from sedano.engine.worker.blocked_loop_warning import Stepped
from sedano.engine.worker.body_preparation import Ready, limits_of, needed
from sedano.engine.worker.body_results import failed
from sedano.engine.worker.execution import Execution, Late
from sedano.model.ledger.outcome import Run

if TYPE_CHECKING:
    from sedano.engine.worker.time_limits import Limited


def run_together(
    waiting: Sequence[Ready], execution: Execution, batch: Batch, finished: Callable[[Ran], None]
) -> list[Late]:
    """Run all bodies on one loop while *batch* has time, each in its turn if `execution.turns` are given; pass each to *finished* as it
    ends.

    Returns:
        the jobs that did not end in time and were cancelled, or could not have ended; with whether they had begun.
    """
    return asyncio.run(all_of(waiting, execution, batch, finished))


async def all_of(
    waiting: Sequence[Ready], execution: Execution, batch: Batch, finished: Callable[[Ran], None], cut: asyncio.Event | None = None
) -> list[Late]:
    """Run all bodies as `run_together` does, on the loop of the caller; they are cancelled once *cut* is set."""
    begun, turns, until = set[str](), execution.turns, batch.deadline - execution.guard

    async def one(held: Held, arguments: Arguments) -> None:
        async with turns.turn() if turns is not None else nullcontext():
            if turns is None or needed(held) <= until - execution.ports.clock.now():
                begun.add(held.job.delivery.message_id)
                await _contained(held, arguments, execution, batch, finished)

    tasks = {asyncio.create_task(one(held, arguments)): held for held, arguments in waiting}
    late = await _late(tasks, until - execution.ports.clock.now(), cut)
    for task in late:
        task.cancel()
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    for (task, held), answer in zip(tasks.items(), answers, strict=True):
        if isinstance(answer, asyncio.CancelledError):
            if task not in late:
                finished(_cancelled(held, answer, execution))
        elif isinstance(answer, BaseException):
            raise answer
    unbegun = [held for held in tasks.values() if held.job.delivery.message_id not in begun]
    return [*((held, False) for held in unbegun), *((tasks[task], True) for task in late if tasks[task] not in unbegun)]


def _cancelled(held: Held, error: BaseException, execution: Execution) -> Ran:
    """Return the run of a body that cancelled its own asyncio task: a failure."""
    context = next((one for one in execution.began if one.command is held.job.command), None)
    return execution.endings.ended(held, failed(error), context)


async def _late(tasks: Iterable[asyncio.Task[None]], seconds: float, cut: asyncio.Event | None) -> set[asyncio.Task[None]]:
    """Return those of *tasks* that have not ended within so many *seconds* (0 or less: at once), or when *cut* was set."""
    if cut is None:
        return (await asyncio.wait(tasks, timeout=seconds))[1]
    until, late, asked = asyncio.get_running_loop().time() + seconds, {*tasks}, asyncio.create_task(cut.wait())
    try:
        while late and not cut.is_set() and (left := until - asyncio.get_running_loop().time()) > 0:
            await asyncio.wait({*late, asked}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            late = {task for task in late if not task.done()}
    finally:
        asked.cancel()
    return late


async def _contained(held: Held, arguments: Arguments, execution: Execution, batch: Batch, finished: Callable[[Ran], None]) -> None:
    """Run one body; an error of the code around it fails its attempt, and the loop continues."""
    ran: Ran | Later | None
    try:
        ran = await _one(held, arguments, execution, batch)
    except Exception as error:  # noqa: BLE001 - the last resort
        ran = execution.endings.surprised(held, error)
    execution.finish(held, ran, batch, finished)


async def _one(held: Held, arguments: Arguments, execution: Execution, batch: Batch) -> Ran | Later | None:
    started = execution.ports.clock.now()
    if execution.look.due(started):
        await asyncio.to_thread(execution.look.ask, started)
    if (why := execution.look.at(held.job, started)) is not None:
        return execution.hindered(held, why, batch)
    context = execution.begin(held, batch)
    if context is None:
        return None
    own = asyncio.current_task()
    context.cancel = own.cancel if own is not None else None
    CURRENT.set(context)
    TELEMETRY.set(execution.ports.telemetry)
    limits = limits_of(held.job)
    if limits is None:
        run = await _call(held, arguments, context, execution)
    else:
        run = await _within(execution.limited(held, limits, context, started), _call(held, arguments, context, execution))
    ran = execution.endings.ended(held, run, context, started)
    if execution.admission.noting:
        execution.admission.note(ran)
    return ran


async def _within(limited: Limited, body: Coroutine[Any, Any, Run]) -> Run:
    """Cancel *body* at its soft limit, and again at its hard limit."""
    watch = limited.beside()
    watch.begin()
    try:
        async with asyncio.timeout(limited.limits.hard):
            try:
                async with asyncio.timeout(limited.limits.soft):
                    run = await body
            except TimeoutError:
                run = limited.softly()
    except (TimeoutError, limited.hard_limit):
        run = limited.ended()
    finally:
        watch.close()
    return limited.settled(run)


async def _call(held: Held, arguments: Arguments, context: TaskContext, execution: Execution) -> Run:
    """Run the body; a cancellation that no one asked for counts as its failure."""
    body = Stepped(lambda: execution.body(held.job.task)(*arguments[0], **arguments[1]), execution.ports.clock)
    try:
        return await body
    except asyncio.CancelledError as error:
        if context.revoked:
            return Run(revoked=True)
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return failed(error.with_traceback(error.__traceback__ and error.__traceback__.tb_next))  # without this frame
    finally:
        body.tell(context, execution.ports.telemetry)
