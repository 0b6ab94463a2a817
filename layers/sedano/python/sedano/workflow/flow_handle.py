"""The handle of a flow run: inspect it, wait for it, and control it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from sedano.errors import FlowFailed, Unavailable, UnknownFlowRun, WrongFlowState
from sedano.model import states
from sedano.model.messages.message import NOTHING
from sedano.model.workflow.flow_run import (
    CANCELLED,
    CANCELLING,
    ENDED,
    FAILED,
    FAILING,
    LONGEST_RUN_S,
    PAUSED,
    RUNNING,
    SUCCEEDED,
    FlowRun,
)  # fmt: skip
from sedano.model.workflow.next_actions import retried, uncompensated, undone_by_hand
from sedano.model.workflow.progress import COMPENSATED, COMPENSATING, COMPENSATION_FAILED, NOT_RUN, READY, WAITING, FlowProgress
from sedano.model.workflow.progress import FAILED as STEP_FAILED
from sedano.model.workflow.progress import RUNNING as STEP_RUNNING
from sedano.model.workflow.progress import SUCCEEDED as STEP_SUCCEEDED
from sedano.workflow.drawing import as_mermaid, as_svg
from sedano.workflow.names import WorkflowApp
from sedano.workflow.run_records import progress_of
from sedano.workflow.watchdog import look

if TYPE_CHECKING:
    from sedano.result.waits import Waits

TRIES = 5
Move = Callable[[FlowRun], FlowRun]


class StepView(NamedTuple):
    """A step as shown to people. *calls*: for a `map`, how many calls succeeded, how many failed, and how many there are."""

    name: str
    state: str
    task: str
    task_id: str
    attempt: int = 0
    detail: str = ""
    calls: tuple[int, int, int] | None = None


class FlowView(NamedTuple):
    """A run as shown to people. Times are epoch seconds; *ended* is 0 until the run ends.

    *uncompensated*: the steps that should have been undone but were not, with the reasons, by name; empty until the run ends.
    """

    run_id: str
    workflow: str
    version: str
    state: str
    cause: str
    started: float
    ended: float
    steps: tuple[StepView, ...]
    uncompensated: Mapping[str, str] = NOTHING


class FlowResult:
    """One run of a workflow. Each property reads the ledger when it is used."""

    def __init__(self, app: WorkflowApp, run_id: str) -> None:
        """Refer to the run *run_id* of *app*."""
        self.id = run_id
        self._app = app

    def __repr__(self) -> str:
        """Name the run."""
        return f"<FlowResult {self.id}>"

    @property
    def state(self) -> str:
        """The run's state: PENDING (no worker has begun it yet), RUNNING, PAUSED, FAILING, CANCELLING, SUCCEEDED, FAILED or CANCELLED."""
        run = self._app.outlet.ports.flow_runs.read(self.id)
        return run.state if run is not None else states.PENDING

    @property
    def uncompensated(self) -> dict[str, str]:
        """The steps that should have been undone but were not, with the reasons, by name; empty without any, or if the run has not
        ended."""
        run = self._app.outlet.ports.flow_runs.read(self.id)
        return dict(run.uncompensated) if run is not None else {}

    def show(self) -> FlowView:
        """Return the run with the state of each step, derived from the ledger.

        Raises:
            UnknownFlowRun: the run does not exist, or it has not begun yet.
        """
        progress = self._progress()
        run, definition = progress.run, progress.definition
        steps = tuple(_view(progress, step.name) for step in definition.steps)
        undone = dict(run.uncompensated)
        return FlowView(
            run_id=run.run_id, workflow=run.workflow, version=run.version, state=run.state, cause=run.cause, started=run.started,
            ended=run.ended, steps=steps, uncompensated=undone,
        )  # fmt: skip

    def get(self, timeout: float | None = None) -> dict[str, Any]:
        """Wait for the run and return the results of its last steps (those that no other step waits for), by name.

        Args:
            timeout: seconds to wait at most; None waits for ever.

        Raises:
            FlowFailed: it failed or was cancelled; the message names the step, and the steps that could not be undone.
            ResultTimeout: it did not end in time, for example because it is paused.
            WaitInsideTask, WaitInsideLoop: a task, or an event loop, is running here.
        """
        from sedano.result.waits import waited

        return waited(self._gets(timeout))

    def __await__(self) -> Generator[Any, None, dict[str, Any]]:
        """Wait for the run without blocking the event loop, and return what `get` does: ``results = await run``."""
        from sedano.result.late_imports import awaited

        return awaited(self._gets(None))

    def _gets(self, timeout: float | None) -> Waits[dict[str, Any]]:
        run = yield from self._waits(timeout)
        if run.state != SUCCEEDED:
            why = f": {run.cause}" if run.cause else ""
            raise FlowFailed(self.id, f"flow run {self.id} of {run.workflow} is {run.state}{why}{_left(run)}")
        progress = progress_of(self._app.outlet, run)
        needed = {name for before in progress.definition.needs().values() for name in before}
        return {s.name: self._value(progress, s.name) for s in progress.definition.steps if s.name not in needed}

    def value(self, step: str) -> Any:
        """Return the result of one *step*; None if it was skipped. Raise `WrongFlowState` if it has not succeeded."""
        progress = progress_of(self._app.outlet, self._run())
        known = [s.name for s in progress.definition.steps]
        if step not in known:
            raise WrongFlowState(f"{progress.run.workflow} has no step {step!r}; it has {', '.join(known)}")
        return self._value(progress, step)

    def wait(self, timeout: float | None = None) -> FlowRun:
        """Wait until the run has ended and return its record; see `get`."""
        from sedano.result.waits import waited

        return waited(self._waits(timeout))

    def _waits(self, timeout: float | None) -> Waits[FlowRun]:
        outlet = self._app.outlet
        outlet.before_waiting()
        from sedano.result.waits import Patience

        patience = Patience(outlet, timeout)
        while True:
            run = outlet.ports.flow_runs.read(self.id)
            if run is not None and run.state in ENDED:
                return run
            yield patience.rest(f"flow run {self.id} is {run.state if run else states.PENDING} and did not end", self.id)

    def pause(self) -> str:
        """Start no further steps until `resume`; running steps continue. Return the state; raise `WrongFlowState` if the run has ended."""
        return self._change({RUNNING: lambda run: run._replace(state=PAUSED), PAUSED: _as_it_is}, "be paused")

    def resume(self) -> str:
        """Continue after `pause`. It does no harm if the run is not paused."""
        going: dict[str, Move] = dict.fromkeys((RUNNING, FAILING, CANCELLING), _as_it_is)
        return self._change({PAUSED: lambda run: run._replace(state=RUNNING), **going}, "be resumed")

    def cancel(self) -> str:
        """Start no further steps, ask running steps to end, and compensate the steps that succeeded.

        A run that failed and waits (``on_failure = "wait"``) is compensated.
        """
        return self._change({RUNNING: _cancelling, PAUSED: _cancelling, FAILED: self._cancelled, CANCELLING: _as_it_is}, "be cancelled")

    def retry(self, undone: Iterable[str] = ()) -> str:
        """Start again the steps that failed or were compensated, and those that wait for them; results of successful steps are kept.

        If steps could not be undone (`uncompensated`), the run first repeats their compensations and does nothing else: its state is
        FAILING (or CANCELLING) again, and a step whose effect was not undone is not started a second time. Call `retry` once more when all
        are undone. Returns the state.

        Args:
            undone: steps whose compensation failed and that you have undone by hand.

        Raises:
            WrongFlowState: the run has not failed and was not cancelled, it is older than its tasks' records, or a step of *undone* is not
                one of `uncompensated`.
        """
        names = (undone,) if isinstance(undone, str) else tuple(undone)
        again = partial(self._retried, names)
        return self._change({FAILED: again, CANCELLED: again}, "be retried")

    def mermaid(self) -> str:
        """Return the graph of its steps with their states, and the progress of each `map`, in Mermaid's language."""
        progress = self._progress()
        return as_mermaid(progress.definition, _states(progress), _calls(progress))

    def svg(self) -> str:
        """Return the graph of its steps with their states, and the progress of each `map`, as an SVG picture."""
        progress = self._progress()
        return as_svg(progress.definition, _states(progress), _calls(progress), progress.run.state)

    def _progress(self) -> FlowProgress:
        return progress_of(self._app.outlet, self._run(), whole=True)

    def _run(self) -> FlowRun:
        run = self._app.outlet.ports.flow_runs.read(self.id)
        if run is None:
            raise UnknownFlowRun(f"no flow run {self.id}; if it was just started, no worker has stored it yet")
        return run

    def _value(self, progress: FlowProgress, step: str) -> Any:
        status = progress.status(step)
        if status.state == STEP_SUCCEEDED and status.record is not None:
            return progress.value_of(status.record)
        if status.state in (STEP_FAILED, WAITING, NOT_RUN):
            raise WrongFlowState(f"step {step} is {status.state} and has no result")
        return None

    def _cancelled(self, run: FlowRun) -> FlowRun:
        progress = progress_of(self._app.outlet, run)
        if progress.definition.on_failure == "compensate":
            raise WrongFlowState(f"flow run {self.id} has failed and was compensated: there is nothing to cancel")
        return run._replace(state=CANCELLING, ended=0.0)

    def _retried(self, undone: Sequence[str], run: FlowRun) -> FlowRun:
        if self._app.outlet.ports.clock.now() > run.started + LONGEST_RUN_S:
            raise WrongFlowState(f"flow run {self.id} is older than the records of its tasks; begin a new one")
        left = uncompensated(progress_of(self._app.outlet, run, whole=True))
        wrong = [name for name in undone if name not in left]
        if wrong:
            raise WrongFlowState(f"flow run {self.id}: {', '.join(wrong)} cannot be marked as undone, only {', '.join(left) or 'none'}")
        return retried(progress_of(self._app.outlet, undone_by_hand(run, undone), whole=True))

    def _change(self, moves: Mapping[str, Move], what: str) -> str:
        """Change the run by compare-and-swap and let a worker direct it; return its state."""
        ports = self._app.outlet.ports
        for _ in range(TRIES):
            run = self._run()
            if run.state not in moves:
                raise WrongFlowState(f"flow run {self.id} is {run.state} and cannot {what}")
            changed = moves[run.state](run)._replace(revision=run.revision + 1, patrol=run.patrol + 1, nonce=ports.entropy.nonce())
            if ports.flow_runs.change(changed, run, ports.clock.now()).done:
                self._app.outlet.post([look(changed, self._app.queues[0])])
                return changed.state
        raise Unavailable(f"flow run {self.id}: others changed it during each of {TRIES} attempts; try again")


def _left(run: FlowRun) -> str:
    """Return the text that names the steps which could not be undone."""
    if not run.uncompensated:
        return ""
    return "; not undone: " + ", ".join(f"{name} ({why})" for name, why in run.uncompensated.items())


def _as_it_is(run: FlowRun) -> FlowRun:
    return run


def _cancelling(run: FlowRun) -> FlowRun:
    return run._replace(state=CANCELLING, cause=run.cause or "cancelled", ended=0.0)


def _states(progress: FlowProgress) -> dict[str, str]:
    return {s.name: _view(progress, s.name).state for s in progress.definition.steps}


def _calls(progress: FlowProgress) -> dict[str, tuple[int, int, int]]:
    """Return for each `map` whose list is known how many calls succeeded, how many did not, and how many there are."""
    found = {s.name: progress.counted(s) for s in progress.definition.steps if s.each is not None}
    return {name: calls for name, calls in found.items() if calls[2]}


def _view(progress: FlowProgress, name: str) -> StepView:
    step, status = progress.definition.step(name), progress.status(name)
    state, detail, calls = status.state, status.detail, None
    if step.compensation is not None and (status.state == STEP_SUCCEEDED or progress.succeeded(step)):
        undone = progress.compensation(name)
        if undone.state != READY:
            state = {STEP_SUCCEEDED: COMPENSATED, STEP_FAILED: COMPENSATION_FAILED}.get(undone.state, COMPENSATING)
            detail = undone.detail or detail
    if step.each is not None:
        calls = progress.counted(step)
        if state == READY and any(task_id in progress.records for task_id in progress.calls(step).values()):
            state = STEP_RUNNING  # what collects its results has not begun, but its calls have
    return StepView(name=name, state=state, task=step.call.task, task_id=status.task_id, attempt=status.attempt, detail=detail, calls=calls)
