"""A declared workflow, bound to its app: checked, started, listed, drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakSet

from sedano.engine.drafts import CommandDraft
from sedano.engine.publisher.publisher import Outlet
from sedano.engine.task_context import CURRENT
from sedano.errors import ArgumentError, FlowRunReused, WorkflowInvalid
from sedano.model.messages import codec
from sedano.model.messages.lineage import DEFAULT_BUDGET, Lineage, derived_id
from sedano.model.messages.message import NOTHING, BlobRef, Command
from sedano.model.messages.stamps import joined
from sedano.model.queues import is_fifo
from sedano.model.tasks.annotations import Wrong, kind_of
from sedano.model.tasks.task_spec import BUILT_IN, TaskSpec
from sedano.model.workflow import value_types as kinds
from sedano.model.workflow.definition import Definition, encode
from sedano.model.workflow.definition_reader import Path, Problem
from sedano.model.workflow.validation import Known, check
from sedano.workflow.built_in_tasks import enlist
from sedano.workflow.drawing import as_mermaid, as_svg
from sedano.workflow.flow_handle import FlowResult
from sedano.workflow.names import COLLECT, PATROL, WORKFLOW, WorkflowApp

KEPT_S = 86_400.0
Where = Callable[[Path], tuple[str, int]]
"""Returns the file and the line of the value at a path of a definition's data."""


def known_tasks(app: WorkflowApp) -> dict[str, Known]:
    """Return the facts about the tasks of *app* that the checks of a workflow use."""
    tasks = {name: spec for name, spec in app.registry.tasks.items() if name not in {*BUILT_IN, WORKFLOW, COLLECT, PATROL}}
    return {
        name: Known(spec.function, spec.delivery != "at_least_once" or not spec.ignore_result, not spec.ignore_result, _unfit(spec))
        for name, spec in tasks.items()
    }


def _unfit(spec: TaskSpec) -> str:
    """Return why the task of *spec* cannot be a step."""
    if is_fifo(spec.queue):
        return "keeps order (serial_key), but a run starts its steps in no fixed order; let a step call its delay() in the right order"
    if spec.limits is not None and spec.limits.batch is not None:
        return "runs many calls as one (batch), so nothing can wait for one of them; let a step call its delay()"
    return ""


_ALIVE: WeakSet[Flow] = WeakSet()


def declared(app: WorkflowApp) -> dict[str, list[Flow]]:
    """Return the workflows of *app* that this process holds, by name; several versions may have one name."""
    found: dict[str, list[Flow]] = {}
    for flow in list(_ALIVE):
        if flow.belongs_to(app):
            found.setdefault(flow.definition.name, []).append(flow)
    return found


class Flow:
    """A workflow of one app. It is immutable: a changed file or class is another version, and runs keep the version that they began
    with."""

    def __init__(self, app: WorkflowApp, definition: Definition, problems: Sequence[Problem], where: Where) -> None:
        """Bind *definition* to *app*; *problems* were found while it was read.

        Raises:
            WorkflowInvalid: it cannot run; the message lists every reason with its place.
        """
        found = sorted((*where(p.path), p.step, p.text) for p in [*problems, *check(definition, known_tasks(app))])
        if found:
            told = [f"{file}:{line}: {f'step {step!r}: ' if step else ''}{text}" for file, line, step, text in found]
            raise WorkflowInvalid(definition.name, told)
        app.registry.need("flow_runs", f"the workflow {definition.name!r}")
        self.definition, self._app = definition, app
        self._kept: tuple[Outlet, BlobRef, float] | None = None
        _ALIVE.add(self)
        enlist(app)

    def __repr__(self) -> str:
        """Name it."""
        return f"<Flow {self.definition.name} {self.definition.version}: {len(self.definition.steps)} steps>"

    def belongs_to(self, app: WorkflowApp) -> bool:
        """Return whether *app* runs it."""
        return self._app is app

    def delay(self, **inputs: Any) -> FlowResult:
        """Begin a run with these inputs and return its handle; see `apply_async`."""
        return self.apply_async(inputs)

    def apply_async(
        self, inputs: Mapping[str, Any] = NOTHING, *, run_id: str | None = None, tenant: str | None = None,
        stamps: Mapping[str, str] | None = None, budget: int = DEFAULT_BUDGET,
    ) -> FlowResult:  # fmt: skip
        """Begin a run and return its handle.

        It sends one message. A worker stores the run and starts its first steps, so a run starts completely or not at all. Inside a task,
        the message is one of the task's follow-ups.

        Args:
            inputs: the workflow's inputs, by name.
            run_id: the id of the run; by default a new one. The same id with the same inputs is the same run.
            tenant, stamps: carried by every task of the run.
            budget: how many tasks the run may cause, divided among its steps.

        Raises:
            ArgumentError: an input is missing, unknown or of the wrong type.
            FlowRunReused: a run with this id was started with other inputs or another definition.
            OptionError: a stamp is not valid.
        """
        outlet, definition = self._app.outlet, self.definition
        given = _fitted(definition, inputs)
        ref = self._definition(outlet)
        chosen = run_id or outlet.drafting.fresh_id()
        if run_id is not None:
            _refuse_other(outlet, run_id, ref, given)
        begin = {"workflow": definition.name, "version": definition.version, "definition": [ref.digest, ref.size], "inputs": given}
        context = CURRENT.get()
        inherited, borne = (context.tenant, context.command.stamps) if context is not None else (None, None)
        command = Command(
            id="", task_id=derived_id(chosen, "begin"), task=WORKFLOW, args=(chosen,), kwargs={"begin": begin}, tenant=tenant or inherited,
            ignore_result=True, stamps=joined(borne, stamps),
        )  # fmt: skip
        lineage = None if context is not None else Lineage(budget=budget)
        outlet.post([CommandDraft(self._app.queues[0], command, lineage=lineage)])
        return FlowResult(self._app, chosen)

    def runs(self) -> list[FlowResult]:
        """Return the runs of this workflow, of all versions, the latest first."""
        return [FlowResult(self._app, run.run_id) for run in self._app.outlet.ports.flow_runs.list(self.definition.name)]

    def run(self, run_id: str) -> FlowResult:
        """Return the handle of the run with this id."""
        return FlowResult(self._app, run_id)

    def mermaid(self) -> str:
        """Return the graph of its steps in Mermaid's language."""
        return as_mermaid(self.definition, {}, {})

    def svg(self) -> str:
        """Return the graph of its steps as an SVG picture."""
        return as_svg(self.definition, {}, {})

    def _definition(self, outlet: Outlet) -> BlobRef:
        """Store the definition once a day, because the blob store deletes old objects; return its claim check."""
        now = outlet.ports.clock.monotonic()
        if self._kept is None or self._kept[0] is not outlet or now > self._kept[2] + KEPT_S:
            self._kept = (outlet, outlet.ports.blobs.put(encode(self.definition)), now)
        return self._kept[1]


def _fitted(definition: Definition, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return *inputs* complete; raise `ArgumentError` for one that is missing, unknown or of the wrong type."""
    for name in inputs:
        if name not in definition.inputs:
            raise ArgumentError(name, f"workflow {definition.name} has no such input; it has {', '.join(definition.inputs) or 'none'}")
    given: dict[str, Any] = {}
    for name, declared in definition.inputs.items():
        if name not in inputs and not declared.optional:
            raise ArgumentError(name, f"an input of workflow {definition.name} is missing")
        value = inputs.get(name, declared.default)
        try:
            kind_of(kinds.from_words(declared.type)).read(value)
        except Wrong as wrong:
            raise ArgumentError(name, f"workflow {definition.name}: {wrong}") from None
        given[name] = value
    plain: dict[str, Any] = codec.decode_value(codec.encode_value(given, "inputs"))
    return plain


def _refuse_other(outlet: Outlet, run_id: str, ref: BlobRef, given: Mapping[str, Any]) -> None:
    found = outlet.ports.flow_runs.read(run_id)
    if found is None:
        return
    text = outlet.ports.blobs.get(found.inputs_ref).decode() if found.inputs_ref is not None else found.inputs or "{}"
    if found.definition != ref or codec.decode_value(text) != given:
        raise FlowRunReused(f"a flow run {run_id} of {found.workflow} {found.version} was started with other inputs or another definition")
