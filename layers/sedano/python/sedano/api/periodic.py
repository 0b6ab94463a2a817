"""`@app.periodic(…)`: periodic tasks, declared in code. `app.periodics` holds the declared tasks by name.

    @app.periodic(cron("0 9 * * MON-FRI", tz="Europe/Berlin"))
    def report() -> None: ...

A worker that runs such a task loads only the timetable; the scheduler's function reads the declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack, cast

from sedano.errors import OptionError

if TYPE_CHECKING:
    from sedano.api.schedule_declaration import ScheduleApp
    from sedano.api.schedules import Schedules
    from sedano.api.task_decorators import DeclaresPeriodic
    from sedano.api.task_options import TaskOptions
    from sedano.model.schedules.agenda import Periodic
    from sedano.model.schedules.timetable import Timetable


class PeriodicTasks:
    """The periodic tasks of an app."""

    @cached_property
    def periodics(self) -> dict[str, Periodic]:
        """The declared periodic tasks, by the names of their schedules."""
        return {}

    def periodic(
        self, timetable: Timetable, /, *, schedule: str | None = None, args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None, jitter: int = 0, misfire_grace: int | None = None,
        coalesce: bool = True, max_instances: int | None = None,
        moment: str | None = None, **options: Unpack[TaskOptions],
    ) -> DeclaresPeriodic:  # fmt: skip
        """Declare a periodic task: decorates a function, which becomes a task, or a task.

        Each occurrence runs once: its task id is derived from the schedule's name and the moment. The task's `expires` counts from the
        moment.

        Args:
            timetable: `cron(…)`, `every(…)` or `at(…)`.
            schedule: the schedule's name; by default the task's. A task with two timetables must name them.
            args: the positional arguments of each call.
            kwargs: the keyword arguments of each call.
            jitter: delay each occurrence by up to this many seconds; the delay of one occurrence never changes.
            misfire_grace: skip an occurrence that would be published more than this many seconds late; by default every occurrence runs.
            coalesce: run only the last of several late occurrences; ``False`` runs them all.
            max_instances: skip an occurrence if this many earlier ones still wait or run at its moment.
            moment: the name of the parameter that receives the moment (a string by RFC 3339, or a `datetime` if annotated as one).
            options: those of `Sedano.task`, when this decorates a function.

        Raises:
            OptionError: an option cannot be honoured, or another schedule has the name.
            ArgumentError: the arguments do not fit the task's parameters.
        """
        if callable(timetable):
            raise OptionError("periodic: the timetable is missing; write @app.periodic(every(60)) or @app.periodic(cron('0 9 * * *'))")
        asked = (jitter, misfire_grace, coalesce, max_instances, moment)

        def declare(function: Callable[..., Any]) -> Any:
            from sedano.api import schedule_declaration as scheduling

            return scheduling.declare(cast("ScheduleApp", self), function, timetable, schedule, (args, kwargs), asked, options)

        return declare

    @cached_property
    def schedules(self) -> Schedules:
        """The schedules of the deployment: list, add, edit, pause, resume, remove, next, backfill."""
        from sedano.api.schedules import Schedules

        return Schedules(cast("ScheduleApp", self))
