"""The tasks that are due in more than 900 s: list them, move them, cancel them.

    report.apply_async(eta=datetime(2027, 1, 1, tzinfo=UTC))
    for waiting in app.scheduled():
        print(waiting.task_id, waiting.task, waiting.eta)
    app.scheduled().edit(task_id, countdown=3_600)
    app.scheduled().cancel(task_id)

Each is a timer with its task's id as its name: publishing one task id twice schedules it once, at the first time. A task leaves this list
90 seconds before its moment, when its timer fires; from then on, revoke it instead of cancelling it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sedano.errors import MessageRefused, OptionError
from sedano.model.messages import codec
from sedano.model.messages.message import NOTHING, Command
from sedano.model.queues import queue_of
from sedano.model.tasks.signature import Options, delay_of
from sedano.model.timers import EARLY_S, Timer, timer_name
from sedano.ports import Ports

SOONEST_S = EARLY_S + 60
"""The nearest moment to which a waiting task can be moved, in seconds from now, because its timer must fire before it."""


class ScheduledTask(NamedTuple):
    """A task that waits for *eta*; *attempt* counts its retries. Arguments in the blob store are not fetched (*args* is empty)."""

    task_id: str
    task: str
    eta: datetime
    queue: str
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = NOTHING
    attempt: int = 0
    tenant: str | None = None


class Scheduled:
    """The waiting timers of one deployment. Iterating lists it anew, the next to run first."""

    def __init__(self, ports: Ports) -> None:
        """Use the deployment behind *ports*; nothing is read yet."""
        self._timers, self._clock = ports.timers, ports.clock

    def __iter__(self) -> Iterator[ScheduledTask]:
        """Yield the tasks that wait, the next to run first."""
        return filter(None, map(_task, self._timers.list()))

    def edit(self, task_id: str, *, eta: datetime | None = None, countdown: float | None = None, attempt: int = 0) -> bool:
        """Move a task to another moment; False if it does not wait here: it is about to run, has run, or never existed.

        Args:
            task_id: the task.
            eta: the moment, with a time zone.
            countdown: instead of *eta*, the seconds from now.
            attempt: the retry to move; 0 is the first run.

        Raises:
            OptionError: neither or both are given, or the moment lies within 150 s (cancel it then and publish it anew) or beyond a year.
        """
        if (eta is None) == (countdown is None):
            raise OptionError("eta, countdown: give one of the two")
        now = self._clock.now()
        seconds = delay_of(Options(eta=eta, countdown=countdown), now)
        if seconds < SOONEST_S:
            raise OptionError(f"eta: {seconds} s from now is too soon to move a task to ({SOONEST_S} s); cancel it and publish it anew")
        return self._timers.edit(timer_name(task_id, attempt), now + seconds)

    def cancel(self, task_id: str, *, attempt: int = 0) -> bool:
        """Cancel a task; False if it does not wait here. Nothing is recorded; to record its end, revoke it too."""
        return self._timers.cancel(timer_name(task_id, attempt))


def _task(timer: Timer) -> ScheduledTask | None:
    try:
        command = codec.decode(timer.body)
    except MessageRefused:
        return None
    if not isinstance(command, Command):
        return None
    moment, queue = datetime.fromtimestamp(timer.at, UTC), queue_of(timer.queue)
    return ScheduledTask(
        task_id=command.task_id, task=command.task, eta=moment, queue=queue, args=command.args, kwargs=command.kwargs,
        attempt=command.attempt, tenant=command.tenant,
    )  # fmt: skip
