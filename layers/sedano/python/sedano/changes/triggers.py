"""Running a schedule now, beside its moments."""

from __future__ import annotations

from functools import partial

from sedano.app import Sedano
from sedano.changes.plan import ChangePlan, Effect, Made
from sedano.changes.targets import SCHEDULE, found, is_paused


def trigger(app: Sedano, name: str) -> ChangePlan:
    """Return the plan to publish one occurrence of the schedule *name* now.

    Raises:
        UnknownTask: the schedule does not exist.
    """
    name = found(app, name, SCHEDULE)[1]
    paused = "; the schedule stays paused" if is_paused(app, SCHEDULE, name) else ""
    line = f"run 1 schedule now: {name}; its next moments stay as they are{paused}"
    return ChangePlan(verb="trigger", what=f"{SCHEDULE}={name}", lines=(line,), number=1, word=name, make=partial(_published, app, name))


def _published(app: Sedano, name: str) -> Made:
    new = app.schedules.trigger(name).id
    return Made((Effect(f"{name} runs now as {new}", {"schedule": name, "id": new}),))
