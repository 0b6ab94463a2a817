"""A chain of equal links, the processes that run it, and the effects that it must have."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from sedano import chain
from sedano.canvas import Form
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.model import states
from sedano.ports import PARKED
from sedano.result import AsyncResult
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage, in_memory

LINKS = 10
OFF = WorkerSettings(lanes=0, inline_links=False)


class Line:
    """A shop whose chain has *links* links, the processes that run it, and the messages that its worker sent."""

    def __init__(self, links: int = LINKS, settings: WorkerSettings | None = None, stage: Stage | None = None) -> None:
        """Start the processes; nothing is published yet."""
        self.stage, self.shop, self.links = stage or in_memory(), Shop(), links
        self.bodies: Counter[int] = Counter()
        self.during: Callable[[int], object] = lambda _: None
        self.step = self.shop.task("step", self._step)
        self.processes = Processes(self.stage, self.shop.app, settings)

    def _step(self, before: int, number: int) -> int:
        self.bodies[number] += 1
        self.during(number)
        return before + 1

    def form(self) -> Form:
        """The chain: each link adds one to the value of the link before."""
        return chain(self.step.s(0, 0), *(self.step.s(number) for number in range(1, self.links)))

    def delay(self) -> AsyncResult[Any]:
        """Publish the chain."""
        return self.form().delay()

    def ids(self) -> list[str]:
        """The ids of the tasks that ended, in order."""
        return [end.task_id for end in self.stage.audit.ends]

    def outlive(self, fault: type[BaseException], after: Callable[[], object] = lambda: None, rounds: int = 20) -> None:
        """Drain the queues; after each *fault*, of which fewer than *rounds* are survived, call *after* and go on 61 s later."""
        for _ in range(rounds):
            try:
                self.processes.drain()
                return
            except fault:
                after()
                self.stage.pass_time(61)

    def assert_whole(self, result: AsyncResult[Any], where: str = "") -> None:
        """Each link has one effect, the value is right, and no message is left."""
        assert result.get(timeout=1) == self.links, where
        assert self.stage.audit.effects() == {("step", states.SUCCESS): self.links}, where
        assert (self.stage.peek(PARKED), self.stage.dead()) == ([], []), where
