"""A group in packs, the processes that run it, and the effects that its members must have."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from sedano import chord, group
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.model import states
from sedano.ports import PARKED
from sedano.result import AsyncResult, GroupResult
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage, in_memory

SIZE = 4


class Crate:
    """A shop whose task `square` runs in packs of *size*, the processes that run it, and how often each body ran."""

    def __init__(self, size: int = SIZE, settings: WorkerSettings | None = None, stage: Stage | None = None, **options: Any) -> None:
        """Start the processes; nothing is published yet."""
        self.stage, self.shop, self.size = stage or in_memory(), Shop(), size
        self.bodies: Counter[int] = Counter()
        self.sums: list[Any] = []
        self.during: Callable[[int], object] = lambda _: None
        self.square = self.shop.task("squared", self.body, **options)
        self.total = self.shop.task("add_up", self._total)
        self.processes = Processes(self.stage, self.shop.app, settings)

    def body(self, number: int) -> int:
        """Square *number*."""
        self.bodies[number] += 1
        self.during(number)
        return number * number

    def _total(self, values: list[Any]) -> int:
        self.sums.append(values)
        return sum(values)

    def group(self, members: int) -> GroupResult[Any]:
        """Publish a group."""
        return group([self.square.s(n) for n in range(members)], pack=self.size).delay()

    def chord(self, members: int) -> AsyncResult[Any]:
        """Publish a chord, whose body adds the results."""
        return chord([self.square.s(n) for n in range(members)], self.total.s(), pack=self.size).delay()

    def publish(self, members: list[Any]) -> AsyncResult[Any]:
        """Publish a chord of *members*, whose body adds the results."""
        return chord(members, self.total.s(), pack=self.size).delay()

    def assert_whole(self, result: Any, members: int, where: str = "") -> None:
        """Each member and the body have one effect, the value is right, and no message is left."""
        wanted = [n * n for n in range(members)]
        assert result.get(timeout=1) == (wanted if isinstance(result, GroupResult) else sum(wanted)), where
        ends = Counter(end.name for end in self.stage.audit.ends)
        assert ends["add_up"] == (0 if isinstance(result, GroupResult) else 1), where
        self.assert_one_end_each(result, members, where)
        assert (self.stage.peek(PARKED), self.stage.dead()) == ([], []), where

    def assert_one_end_each(self, result: Any, members: int, where: str = "") -> None:
        """Each member ended, in its pack or on its own, and not in both."""
        own = Counter(end.task_id for end in self.stage.audit.ends)
        assert max(own.values()) == 1, where
        header = result if isinstance(result, GroupResult) else result.parent
        assert all(one.state in states.TERMINAL for one in header), where
        assert len(list(header)) == members, where
