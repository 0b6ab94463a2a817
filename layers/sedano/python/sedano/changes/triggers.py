"""Running a schedule now, in addition to its moments."""

from __future__ import annotations

from functools import partial

from sedano.app import Sedano
from sedano.changes.plan import AppliedChange, ChangePlan, Effect
from sedano.changes.targets import SCHEDULE, found, is_paused


def trigger(app: Sedano, name: str) -> ChangePlan:
    """Return the plan to publish one occurrence of the schedule *name* now.

    Raises:
        UnknownTask: the schedule does not exist.
    """
    name = found(app, name, SCHEDULE)[1]
    paused = "; the schedule stays paused" if is_paused(app, SCHEDULE, name) else ""
    line = f"run 1 schedule now: {name}; its next moments do not change{paused}"
    return ChangePlan(verb="trigger", what=f"{SCHEDULE}={name}", lines=(line,), number=1, word=name, make=partial(_published, app, name))


def _published(app: Sedano, name: str) -> AppliedChange:
    new = app.schedules.trigger(name).id
    return AppliedChange((Effect(f"{name} runs now as {new}", {"schedule": name, "id": new}),))
