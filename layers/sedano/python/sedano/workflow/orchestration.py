"""The built-in task `sedano.workflow`: asks the rule for the next actions of a flow run and performs them.

The canvas of each step publishes it (`link` and `link_error`) when the step succeeds or fails. So a crash that the step survives does not
stop the run. It reads the run's item and the steps' records, and publishes under derived ids; it has no state, so running it twice, late,
or in parallel changes nothing. It is delivered at least once and writes only if the run itself changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sedano.canvas.publication import begun
from sedano.engine.drafts import CommandDraft
from sedano.engine.revocation.record import revoke
from sedano.engine.task_context import CURRENT, TaskContext
from sedano.errors import (
    ArgumentError,
    BudgetExhausted,
    MessageRefused,
    OptionError,
    SedanoError,
    TooLarge,
    Unavailable,
    UnknownTask,
    Unserialisable,
)  # fmt: skip
from sedano.model import states
from sedano.model.canvas import tree as canvas
from sedano.model.messages import codec
from sedano.model.messages.lineage import Lineage, derived_id
from sedano.model.messages.message import BlobRef, Command
from sedano.model.messages.stamps import read as read_stamps
from sedano.model.tasks.signature import MAX_DELAY_S, Options, Signature
from sedano.model.workflow.definition import StepSpec, TaskCall
from sedano.model.workflow.flow_run import ENDED, FAILED, FAILING, LONGEST_RUN_S, PAUSED, FlowRun
from sedano.model.workflow.next_actions import Action, Compensate, End, Publish, Stop, WindUp, advance
from sedano.model.workflow.progress import FlowProgress, Skipped
from sedano.workflow.names import COLLECT, WORKFLOW, WorkflowApp
from sedano.workflow.run_records import progress_of
from sedano.workflow.watchdog import look

ROUNDS = 20
"""How often the rule is applied again after a write; other workers write as well."""
INLINE_INPUTS = 60_000
PATROL_S = 900
"""The seconds between two checks of a run that has not ended."""
HOPELESS = (ArgumentError, BudgetExhausted, MessageRefused, OptionError, TooLarge, UnknownTask, Unserialisable, Skipped, ValueError)
"""Raised if a step cannot be published; repeating does not help."""


class Directing:
    """Directs the flow runs of one app."""

    def __init__(self, app: WorkflowApp) -> None:
        """Direct for *app*."""
        self._app = app

    def direct(
        self, run_id: str, step: str | None = None, begin: Mapping[str, Any] | None = None, limit: Sequence[Any] | None = None
    ) -> None:
        """Perform the next actions of *run_id*; see `sedano.model.workflow.next_actions`.

        Args:
            run_id: the run.
            step: the step that has just ended; None checks all steps.
            begin: the run's first data, in the command that begins it.
            limit: a task's id and the moment (epoch s) of its time limit, in the command that watches it.
        """
        ports = self._app.outlet.ports
        run = ports.flow_runs.read(run_id) if begin is None else self._begun(run_id, begin)
        if run is None or (limit is not None and not self._over(run, step, str(limit[0]), float(limit[1]))):
            return
        if begin is not None:
            self._look_later(run, 0)
        self._direct(run, step)

    def patrol(self, run_id: str, number: int, turn: int) -> None:
        """Check all steps of a run, and again later: a command may be parked, and the run must not wait for it forever.

        Args:
            run_id: the run.
            number: of this patrol; each control operation on the run starts another one, and this one ends.
            turn: how many checks it has done.
        """
        run = self._app.outlet.ports.flow_runs.read(run_id)
        if run is None or number != run.patrol or run.state in ENDED:
            return
        if self._direct(run, None).state not in {*ENDED, PAUSED}:
            self._look_later(run, turn + 1)

    def _direct(self, run: FlowRun, step: str | None) -> FlowRun:
        """Apply the rule until it no longer changes the run itself; return the run."""
        context = CURRENT.get()
        if context is None:
            raise SedanoError("sedano.workflow directs flow runs from a worker only")
        for _ in range(ROUNDS):
            changed = self._directed(run, step, context)
            if changed is None:
                return run
            run = changed
        raise Unavailable(f"flow run {run.run_id}: it changed in each of {ROUNDS} rounds")

    def _directed(self, run: FlowRun, step: str | None, context: TaskContext) -> FlowRun | None:
        """Perform the next actions of *run*; return the run if it changed, so that the rule must be applied again."""
        if run.state in ENDED:
            return None
        if self._app.outlet.ports.clock.now() > run.started + LONGEST_RUN_S:
            return self._changed(run, run._replace(state=FAILED, cause="it has outlived the records of its tasks"))
        try:
            progress = progress_of(self._app.outlet, run)
            rest = self._publish(progress, advance(progress, step), context)
        except MessageRefused as lost:
            return self._changed(run, run._replace(state=FAILED, cause=f"it cannot go on: {lost}"))
        return self._write(progress, rest[0]) if rest else None

    def _begun(self, run_id: str, begin: Mapping[str, Any]) -> FlowRun | None:
        context = CURRENT.get()
        if context is None:
            raise SedanoError("sedano.workflow directs flow runs from a worker only")
        ports, command = self._app.outlet.ports, context.command
        text = codec.encode_value(begin["inputs"], "inputs")
        ref = ports.blobs.put(text.encode()) if len(text) > INLINE_INPUTS else None
        run = FlowRun(
            run_id=run_id, workflow=str(begin["workflow"]), version=str(begin["version"]), definition=BlobRef(*begin["definition"]),
            started=command.time, inputs=None if ref else text, inputs_ref=ref, nonce=ports.entropy.nonce(), tenant=command.tenant,
            stamps=command.stamps, hops=command.lineage.hops, budget=command.lineage.budget,
            root_id=command.lineage.root_id or command.task_id,
        )  # fmt: skip
        found = ports.flow_runs.begin(run, ports.clock.now()).run
        if found is not None and (found.definition, found.inputs, found.inputs_ref) != (run.definition, run.inputs, run.inputs_ref):
            ports.telemetry.count("FlowRunsRefused")
            ports.telemetry.log("error", "a flow run with this id was started with other inputs or another definition", run_id=run_id)
            return None
        return found

    def _publish(self, progress: FlowProgress, actions: Sequence[Action], context: TaskContext) -> Sequence[Action | dict[str, str]]:
        """Publish the steps and compensations among *actions* and return the rest to write: actions, and steps that cannot be published."""
        given_up: dict[str, str] = {}
        rest: list[Action | dict[str, str]] = []
        for action in actions:
            if not isinstance(action, Publish | Compensate):
                rest.append(action)
                continue
            before = len(context.outbox)
            try:
                self._send(progress, action)
            except HOPELESS as wrong:
                del context.outbox[before:]
                given_up[action.task_id] = f"{type(wrong).__name__}: {wrong}"[:500]
        return [*rest, given_up] if given_up else rest

    def _send(self, progress: FlowProgress, action: Publish | Compensate) -> None:
        step, run = action.step, progress.run
        options = self._options(progress, action)
        follows = canvas.TaskNode(Signature(WORKFLOW, (run.run_id, step.name), immutable=True))
        call = step.call if isinstance(action, Publish) else step.compensation or step.call
        if step.each is None:
            tree: canvas.Tree = canvas.TaskNode(_signature(progress, call, options), (follows,), (follows,))
        else:
            tree = self._whole(progress, action, call, options, follows)
        self._post(progress, step, tree, action.task_id)
        if isinstance(action, Publish) and step.time_limit is not None:
            until = self._app.outlet.ports.clock.now() + step.time_limit + float(options.countdown or 0)
            self._watch(run, step, action.task_id, until)

    def _post(self, progress: FlowProgress, step: StepSpec, tree: canvas.Tree, task_id: str) -> None:
        """Put the canvas of a step into the outbox as a child of the run: steps are declared, so no step counts as spawned by another.

        Raises:
            BudgetExhausted: it has more tasks than the step's share of the run's budget.
        """
        run, number = progress.run, len(progress.definition.steps)
        draft = begun(self._app.outlet, canvas.normal(tree), task_id)
        share = run.budget // number
        if draft.weight > share:
            more = f"each of its {number} steps may cause {share} of the run's {run.budget}; start the run with a larger budget"
            raise BudgetExhausted(f"budget: step {step.name} has {draft.weight} tasks, but {more}")
        self._app.outlet.post([draft._replace(lineage=Lineage(run.root_id, run.run_id, run.hops + 1, share))])

    def _whole(
        self, progress: FlowProgress, action: Publish | Compensate, call: TaskCall, options: Options, follows: canvas.TaskNode
    ) -> canvas.Tree:
        """Return a `map` as a canvas: a group of its calls and the task that collects their results, which has the step's id."""
        step = action.step
        items = progress.items(step)
        if isinstance(action, Publish):
            done = progress.succeeded(step)
            numbers = list(progress.calls(step))
            kept = [[n, progress.value_of(record)] for n, record in sorted(done.items()) if n not in numbers]
            members = [_signature(progress, call, options, items[n]) for n in numbers]
        else:
            kept = []
            done = progress.to_undo(step)
            each = [(progress.knowing(step.name, progress.value_of(record)), items[n]) for n, record in sorted(done.items())]
            members = [_signature(own, call, options, item) for own, item in each]
        group = canvas.Group(tuple(map(canvas.TaskNode, members)))
        return canvas.Chain((group, canvas.TaskNode(Signature(COLLECT, (), {"kept": kept}), (follows,), (follows,))))

    def _options(self, progress: FlowProgress, action: Publish | Compensate) -> Options:
        run, step = progress.run, action.step
        stamps = read_stamps(run.stamps) or None
        if isinstance(action, Compensate):
            return Options(tenant=run.tenant, stamps=stamps)
        again = action.attempt - run.rounds.get(step.name, 0)
        pause = step.retry.pause(again - 1, self._app.outlet.ports.entropy.unit()) if again else None
        expires = None if step.time_limit is None else step.time_limit + (pause or 0.0)
        return Options(tenant=run.tenant, stamps=stamps, countdown=pause, expires=expires)

    def _look_later(self, run: FlowRun, turn: int) -> None:
        draft = look(run, self._app.queues[0], turn)
        self._app.outlet.post([draft._replace(delay=PATROL_S, lineage=Lineage(run.root_id, run.run_id, run.hops + 1, run.budget))])

    def _watch(self, run: FlowRun, step: StepSpec, task_id: str, until: float) -> None:
        """Let this task check again when the time limit of *task_id* has passed."""
        left = max(1.0, until - self._app.outlet.ports.clock.now() + 1.0)
        delay = int(min(MAX_DELAY_S, left))
        watch = derived_id(task_id, f"limit/{max(0, int(left - delay))}")
        kwargs = {"limit": [task_id, until]}
        queue = self._app.queues[0]
        command = Command(id="", task_id=watch, task=WORKFLOW, args=(run.run_id, step.name), kwargs=kwargs, ignore_result=True)
        self._app.outlet.post([CommandDraft(queue, command, delay)])

    def _over(self, run: FlowRun, name: str | None, task_id: str, until: float) -> bool:
        """Revoke the step whose time limit has passed; return whether the rule must be applied again."""
        outlet = self._app.outlet
        progress = progress_of(outlet, run, whole=True)
        step = next((s for s in progress.definition.steps if s.name == name), None)
        if step is None or progress.status(step.name).task_id != task_id:
            return False
        if outlet.ports.clock.now() < until:
            self._watch(run, step, task_id, until)
            return False
        ids = [task_id] if step.each is None else list(progress.calls(step).values())
        ended = {i for i, record in progress.records.items() if record.state in states.TERMINAL}
        stopped = [revoke(outlet.ports, outlet.lamport, i, terminate=True) for i in ids if i not in ended]
        return step.each is None and states.REVOKED in stopped

    def _write(self, progress: FlowProgress, what: Action | dict[str, str]) -> FlowRun:
        """Perform an action that changes the run or its tasks, and return the changed run."""
        ports, run = self._app.outlet.ports, progress.run
        if isinstance(what, Stop):
            for task_id in what.task_ids:
                revoke(ports, self._app.outlet.lamport, task_id, terminate=what.terminate)
            return ports.flow_runs.read(run.run_id) or run
        if isinstance(what, dict):
            return self._changed(run, run._replace(given_up={**run.given_up, **what}))
        if isinstance(what, WindUp):
            return self._changed(run, run._replace(state=FAILING, cause=what.cause))
        if isinstance(what, End):
            return self._changed(run, run._replace(state=what.state, uncompensated=what.uncompensated))
        raise TypeError(f"{what} is published, not written")

    def _changed(self, run: FlowRun, changed: FlowRun) -> FlowRun:
        """Write *changed* if *run* is still the stored one; return the stored run."""
        ports = self._app.outlet.ports
        now = ports.clock.now()
        ended = now if changed.state in ENDED else 0.0
        changed = changed._replace(ended=ended, revision=run.revision + 1, nonce=ports.entropy.nonce())
        answer = ports.flow_runs.change(changed, run, now)
        if answer.done and changed.state != run.state:
            ports.telemetry.log("info", f"flow run is {changed.state}", run_id=run.run_id, workflow=run.workflow, cause=changed.cause)
        return answer.run or run


def _signature(progress: FlowProgress, call: TaskCall, options: Options, item: Any = None) -> Signature:
    args, kwargs = progress.arguments(call, item)
    return Signature(call.task, tuple(args), kwargs, options)
