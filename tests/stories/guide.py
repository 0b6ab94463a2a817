"""The tasks of Celery's userguide of the canvas, as its examples name them."""

from typing import Any

from sedano.canvas import Form, Sig
from sedano.model.tasks.signature import Signature
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage, in_memory


class Guide(Shop):
    """The shop with the guide's tasks: what they were called with stands in *seen*."""

    def __init__(self, stage: Stage | None = None) -> None:
        """Declare them and begin processes on *stage*, by default a new one in memory."""
        super().__init__()
        self.task("mul", lambda x, y: x * y)
        self.task("tsum", sum)
        self.task("log_result", self._note)
        self.task("log_error", self._log_error)
        self.task("on_id", self._note)
        self.task("fail", self._fail, retry=False)
        self.task("same", lambda x: x)
        self.stage = stage or in_memory()
        self.processes = Processes(self.stage, self.app)

    def sig(self, name: str, *args: Any, immutable: bool = False, **kwargs: Any) -> Sig:
        """Return the signature of the task *name*."""
        return Sig(Signature(name, args, kwargs, immutable=immutable), self.app)

    def value(self, form: Form, *args: Any) -> Any:
        """Publish *form*, let everything run and return its value."""
        result = form.delay(*args)
        self.processes.drain()
        return result.get(timeout=1)

    def _note(self, value: Any) -> Any:
        self.seen.append(value)
        return value

    def _log_error(self, request: dict[str, Any], exc: dict[str, str], traceback: str) -> None:
        self.seen.append((request["task"], exc["type"], exc["message"], "Traceback" in traceback))

    def _fail(self, *_: Any) -> None:
        raise ValueError("out of stock")
