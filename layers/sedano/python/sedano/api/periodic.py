"""`@app.periodic(…)`: periodic tasks, declared in code. `app.periodics` holds the declared tasks by name.

    @app.periodic(cron("0 9 * * MON-FRI", tz="Europe/Berlin"))
    def report() -> None: ...

A worker that runs such a task loads nothing of this but the timetable; the scheduler's function reads what is declared.
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
        """Declare that a task runs by *timetable*: above a function, which becomes a task, or above a task.

        Each occurrence runs once: its task id is derived from the schedule's name and the moment. The task's `expires` counts from the
        moment.

        Args:
            timetable: `cron(…)`, `every(…)` or `at(…)`.
            schedule: the schedule's name; by default the task's. A task with two timetables must name them.
            args: what the task is called with.
            kwargs: and by name.
            jitter: put each occurrence off by up to so many seconds, always the same for one occurrence.
            misfire_grace: leave out an occurrence that could not be published for longer than so many seconds; by default every occurrence
                runs.
            coalesce: of several that are late run only the last; ``False``: run them all.
            max_instances: leave an occurrence out when so many earlier ones still wait or run at its moment.
            moment: the name of the parameter that is given the moment (a text by RFC 3339, or a `datetime` if it is annotated so).
            options: those of `Sedano.task`, when this decorates a function.

        Raises:
            OptionError: an option cannot be honoured, or another schedule has the name.
            ArgumentError: the arguments do not fit the task's parameters.
        """
        if callable(timetable):
            raise OptionError("periodic: it is not said when; write @app.periodic(every(60)) or @app.periodic(cron('0 9 * * *'))")
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
