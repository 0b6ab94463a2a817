"""Planted faults of workflows: its conditional writes weakened, its rule changed, and directors that do what the rule forbids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from functools import partial
from typing import Any

from sedano import Sedano
from sedano.aws.expressions import flow_runs
from sedano.engine.task_context import TaskContext
from sedano.model.canvas import tree as canvas
from sedano.model.tasks.signature import Options
from sedano.model.workflow import next_actions as shipped
from sedano.model.workflow.definition import TaskCall
from sedano.model.workflow.flow_run import FlowRun
from sedano.model.workflow.next_actions import Action, Compensate, Publish, Stop
from sedano.model.workflow.progress import FlowProgress
from sedano.workflow import FlowResult
from sedano.workflow.orchestration import Directing
from sedano.workflow.run_records import progress_of
from tests.simulation.campaign import Schedule, Stage
from tests.simulation.flows import FlowWorld, PlantedFlow, made
from tests.simulation.weaken import without
from tests.unit.workflow.planted import PLANTED, planted_rule
from tests.unit.workflow.toy import Rule

RULES = (
    "a failure is not noticed", "a run ends before its last step", "a failed compensation is tried for ever", "a paused run goes on",
    "what was left undone is not told",
)  # fmt: skip
"""Those that break what this world promises; the order of compensations is judged beside the rule itself (`tests/unit/workflow`)."""


_, _NEWER = made("succeeds", version="2")


class ByRule(Directing):
    """Directs by another rule."""

    def __init__(self, rule: Rule, app: Sedano) -> None:
        """Direct for *app* by *rule*."""
        super().__init__(app)
        self._rule = rule

    def _publish(self, progress: FlowProgress, actions: Sequence[Action], context: TaskContext) -> Sequence[Action | dict[str, str]]:
        return super()._publish(progress, self._rule(progress, None), context)


class ByItsOwnVersion(Directing):
    """Directs a run by the definition that its code has now, whatever the run began with."""

    def _publish(self, progress: FlowProgress, actions: Sequence[Action], context: TaskContext) -> Sequence[Action | dict[str, str]]:
        newer = FlowProgress(_NEWER.definition, progress.run, progress.inputs, progress.records, progress._value)
        return super()._publish(newer, shipped.advance(newer, None), context)


class Anew(Directing):
    """Publishes what it was asked for under an id that is new each time."""

    def __init__(self, kind: type[Publish | Compensate], app: Sedano) -> None:
        """Do so with actions of this *kind*."""
        super().__init__(app)
        self._kind, self._asked = kind, 0

    def _send(self, progress: FlowProgress, action: Publish | Compensate) -> None:
        self._asked += 1
        fresh = f"{action.task_id[:-12]}{self._app.outlet.drafting.fresh_id()[-12:]}"
        super()._send(progress, action._replace(task_id=fresh) if isinstance(action, self._kind) else action)


class NeverRevokes(Directing):
    """Takes for revoked what it was to revoke, and goes on."""

    def _directed(self, run: FlowRun, step: str | None, context: TaskContext) -> FlowRun | None:
        progress = progress_of(self._app.outlet, run)
        actions = shipped.advance(progress, step)
        if not any(isinstance(action, Stop) for action in actions):
            return super()._directed(run, step, context)
        stopped = {i for action in actions if isinstance(action, Stop) for i in action.task_ids}
        for found in shipped.to_compensate(progress):
            if progress.compensation(found.name).task_id not in stopped:
                self._send(progress, Compensate(found, run.compensation_id(found.name)))
        return None


class UndoesTheWholeMap(Directing):
    """Undoes every call of a map again, also those that an earlier begin of its compensation undid."""

    def _whole(
        self, progress: FlowProgress, action: Publish | Compensate, call: TaskCall, options: Options, follows: canvas.TaskNode
    ) -> canvas.Tree:
        if isinstance(action, Compensate):
            progress = copy(progress)
            progress.run = progress.run._replace(undoing={})
        return super()._whole(progress, action, call, options, follows)


class GivesUp(Directing):
    """Takes a step whose time has not come for one that cannot be published."""

    def _options(self, progress: FlowProgress, action: Publish | Compensate) -> Options:
        before = [progress.status(name).state for name in progress.definition.needs()[action.step.name]]
        if before and isinstance(action, Publish):
            raise ValueError("not now")
        return super()._options(progress, action)


def _everything_again(result: FlowResult) -> object:
    def again(run: FlowRun) -> FlowRun:
        names = [step.name for step in result.show().steps]
        rounds = {name: run.rounds.get(name, 0) + 1 for name in names}
        return run._replace(state="RUNNING", cause="", ended=0.0, rounds=rounds, whole=rounds)

    return result._change({"FAILED": again}, "be retried")


def _forward(result: FlowResult) -> object:
    def again(run: FlowRun) -> FlowRun:
        return shipped._begun_again(progress_of(result._app.outlet, run, whole=True))

    return result._change({"FAILED": again}, "be retried")


def _under_the_same_ids(result: FlowResult) -> object:
    def again(run: FlowRun) -> FlowRun:
        return run._replace(state="FAILING", ended=0.0, uncompensated={})

    return result._change({"FAILED": again}, "be retried")


def planted() -> Mapping[str, PlantedFlow]:
    """Return the planted faults by name."""
    rules: dict[str, Any] = {name: partial(ByRule, planted_rule(*PLANTED[name])) for name in RULES}
    return {name: PlantedFlow(directing=directing) for name, directing in rules.items()} | {
        "BEGIN over what has begun": PlantedFlow(rewrite=without(flow_runs.BEGIN)),
        "CHANGE of what has changed": PlantedFlow(rewrite=without(flow_runs.CHANGE, "nc = :seen")),
        "directs by its own version": PlantedFlow(directing=ByItsOwnVersion),
        "publishes steps under new ids": PlantedFlow(directing=partial(Anew, Publish)),
        "compensates under new ids": PlantedFlow(directing=partial(Anew, Compensate)),
        "compensates what it did not stop": PlantedFlow(directing=NeverRevokes),
        "undoes a whole map again": PlantedFlow(directing=UndoesTheWholeMap),
        "gives up what it could publish": PlantedFlow(directing=GivesUp),
        "a retry loses results": PlantedFlow(retry=_everything_again),
        "a retry begins again what was not undone": PlantedFlow(retry=_forward),
        "a retry undoes under the ids that failed": PlantedFlow(retry=_under_the_same_ids),
    }


def stages() -> dict[str, Stage]:
    """Return the worlds of workflows with each of the faults, by name."""
    return {f"flow: {name}": partial(_stage, fault) for name, fault in planted().items()}


def _stage(fault: PlantedFlow, seed: int, allowed: AbstractSet[int] | None) -> Schedule:
    return FlowWorld(seed, fault, allowed)
