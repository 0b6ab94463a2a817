"""The tasks that every app has: they launch a canvas, collect the results of a group, and hold elections."""

from __future__ import annotations

from typing import Any

from sedano.engine.task_context import CURRENT
from sedano.model.messages.message import COLLECT, ELECT, LAUNCH, PACK
from sedano.model.retry import Retry
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.task_spec import TaskSpec


def _launched(*_: Any, **__: Any) -> None:
    """Do nothing: the effects of a launch are its follow-ups."""


def _collected(results: Any = None) -> Any:
    """Return the results of a group: the list as the result of one task."""
    return results


def _elect(election_id: str, last: bool, *about: Any) -> None:
    """Let the worker that runs this open an election, or take part in one."""
    context = CURRENT.get()
    if context is not None and context.vote is not None:
        context.vote(context, election_id, last, about)


def _packed(task: str, calls: list[Any], options: dict[str, Any], /) -> None:
    """Do nothing: the worker runs the members (`sedano.engine.worker.packs`)."""


LAUNCH_TASK = TaskSpec(LAUNCH, _launched, Parameters(_launched))
ELECT_TASK = TaskSpec(ELECT, _elect, Parameters(_elect), retry=Retry(max_retries=15), ignore_result=True)
COLLECT_TASK = TaskSpec(COLLECT, _collected, Parameters(_collected))
PACK_TASK = TaskSpec(PACK, _packed, Parameters(_packed), retry=Retry(max_retries=0))
BUILT_IN_TASKS = {LAUNCH: LAUNCH_TASK, COLLECT: COLLECT_TASK, ELECT: ELECT_TASK, PACK: PACK_TASK}
