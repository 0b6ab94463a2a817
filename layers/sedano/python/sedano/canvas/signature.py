"""A signature bound to its app: one task with its arguments and options, as Celery's `task.s(…)` returns it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sedano.canvas.election import elect
from sedano.canvas.form import Form, Publishes
from sedano.errors import CanvasError, UnknownTask
from sedano.model.canvas.tree import TaskNode, Tree
from sedano.model.elections import TIMEOUT_S, Mode
from sedano.model.tasks.signature import Signature, given
from sedano.result import AsyncResult
from sedano.result.async_result import V_co

if TYPE_CHECKING:
    from typing import Unpack

    from sedano.model.tasks.published_options import LinkedOptions


class Sig(Form[AsyncResult[V_co]]):
    """One task as a form of a canvas."""

    def __init__(self, spec: Signature, app: Publishes | None) -> None:
        """Bind *spec* to *app*."""
        super().__init__(TaskNode(spec), app)

    @property
    def spec(self) -> Signature:
        """The signature itself."""
        return _step(self.tree).signature

    @property
    def task(self) -> str:
        """The name of the task."""
        return self.spec.task

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the task's body in this process, as a plain call; nothing is published and no callback is called.

        Raises:
            UnknownTask: the app does not declare the task.
        """
        spec, call = self.needs_app().outlet.registry.tasks.get(self.task), self.spec.clone(args, kwargs)
        if spec is None:
            raise UnknownTask(f"this app has no task {self.task!r}; a task of another app can be published, but not called")
        return spec.function(*call.args, **call.kwargs)

    def delay(self, *args: Any, **kwargs: Any) -> AsyncResult[V_co]:
        """Publish the signature, with additional arguments if it is not immutable."""
        return super().delay(*args, **kwargs)

    def election(self, *, mode: Mode = "faithful", timeout: int = TIMEOUT_S) -> AsyncResult[V_co]:
        """Let the cluster elect a worker that dispatches this signature once; see `Control.election`.

        Raises:
            CanvasError: the signature has callbacks, which an election cannot dispatch.
        """
        if self.tree != TaskNode(self.spec):
            raise CanvasError("an election dispatches one signature without callbacks; publish further tasks in its body")
        outlet = self.needs_app().outlet
        task_id = self.task_id or self.spec.options.task_id or outlet.drafting.fresh_id()
        return elect(outlet, task_id, "task", self.spec, task_id, mode=mode, timeout=timeout)


def signature(
    name: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, *, app: Publishes | None = None, immutable: bool = False,
    **options: Unpack[LinkedOptions],
) -> Sig[Any]:  # fmt: skip
    """Return the signature of a task by its name, with options.

    Args:
        name: the task's name.
        args: its arguments.
        kwargs: its keyword arguments.
        app: the app that publishes it; by default the app of the forms that it is combined with (see also `app.signature`).
        immutable: results of previous tasks are not passed to it.
        options: see `sedano.model.tasks.signature.Options`; also ``link`` and ``link_error``.
    """
    return Sig(Signature(name, *given(args, kwargs), immutable=immutable), app).set(**options)


def _step(tree: Tree) -> TaskNode:
    if not isinstance(tree, TaskNode):
        raise CanvasError("not one task")
    return tree
