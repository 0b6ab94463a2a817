"""A signature bound to its app: one task with its arguments and options, as Celery's `task.s(…)` returns it."""

from __future__ import annotations

from typing import Any

from sedano.canvas.forms import Form, Publishes
from sedano.elections import TIMEOUT_S, Mode, elect
from sedano.errors import CanvasError
from sedano.model.canvas import Step, Tree
from sedano.model.signature import Signature
from sedano.result import AsyncResult


class Sig(Form):
    """One task as a form of a canvas."""

    app: Publishes

    def __init__(self, spec: Signature, app: Publishes) -> None:
        """Bind *spec* to *app*."""
        super().__init__(Step(spec), app)

    @property
    def spec(self) -> Signature:
        """The signature itself."""
        return _step(self.tree).signature

    @property
    def task(self) -> str:
        """The name of the task."""
        return self.spec.task

    def delay(self, *args: Any, **kwargs: Any) -> AsyncResult[Any]:
        """Publish it, with more arguments if it is not immutable."""
        result: AsyncResult[Any] = super().delay(*args, **kwargs)
        return result

    def election(self, *, mode: Mode = "faithful", timeout: int = TIMEOUT_S) -> AsyncResult[Any]:
        """Let the cluster elect a worker, and dispatch it once; see `Control.election`.

        Raises:
            CanvasError: it has callbacks, which an election does not carry.
        """
        if self.tree != Step(self.spec):
            raise CanvasError("what is elected for is one signature without callbacks; let the task publish them")
        outlet = self.app.outlet
        task_id = self.task_id or self.spec.options.task_id or outlet.fresh_id()
        return elect(outlet, task_id, "task", self.spec, task_id, mode=mode, timeout=timeout)


def _step(tree: Tree) -> Step:
    if not isinstance(tree, Step):
        raise CanvasError("not one task")
    return tree
