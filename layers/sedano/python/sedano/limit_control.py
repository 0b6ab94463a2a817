"""Limits at run time: the part of `app.control` that changes how often, and how many at a time, tasks start."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from sedano.engine.control import Controlling
from sedano.engine.registry import Registry
from sedano.errors import OptionError
from sedano.model import limiting, rates
from sedano.model.control import with_limits
from sedano.model.limiting import UNLIMITED, Change, Range
from sedano.model.rates import RateText


class LimitControl(ABC):
    """Changes limits in the control record. They stand until they are changed again, through deployments too."""

    @property
    @abstractmethod
    def _controlling(self) -> Controlling:
        """What changes the control record."""

    @property
    @abstractmethod
    def _registry(self) -> Registry:
        """The tasks of the app."""

    def rate_limit(self, task: str, rate: RateText | Sequence[RateText] | None, burst: int | Sequence[int] = 1) -> Mapping[str, str]:
        """Change how often *task* may start, until `restore_limits` (Celery's `control.rate_limit`).

        A worker learns of it when it starts and with its heartbeats, so a running worker may need as long as its heartbeat's interval;
        until then both rates hold, each for the workers that know it. Slots that were given under the old rate are void.

        Args:
            task: the task's name.
            rate: as in ``@app.task(rate=…)``; None lifts the limit.
            burst: as in ``@app.task(burst=…)``.

        Returns:
            all limits that differ from those declared, by task.

        Raises:
            OptionError: the app has no such task, it cannot be limited, or it is no rate.
            Unavailable: the store did not answer; asking again is safe.
        """
        self._limitable(task)
        paces = () if rate is None else rates.paces(rate, burst)
        return self._changed(task, paces=paces)

    def concurrency(self, task: str, limit: int | None) -> Mapping[str, str]:
        """Change how many of *task* run at a time, until `restore_limits`: 0 suspends it, None lifts the limit.

        Where it is lowered, what runs goes on; so many as it says start only when fewer are left.

        Raises:
            OptionError: the app has no such task, it cannot be limited, or it is no number from 0 to 1 000.
        """
        self._limitable(task)
        found = UNLIMITED if limit is None else limiting.concurrency(limit)
        if isinstance(found, Range):
            raise OptionError("concurrency: a Range is declared with the task, for its function stands in the code; give a number")
        return self._changed(task, concurrency=found)

    def restore_limits(self, task: str) -> Mapping[str, str]:
        """Let the limits of *task* be as declared again."""
        self._limitable(task)
        return self._controlling.change(lambda record, clock, nonce: with_limits(record, task, "", clock, nonce)).limits

    def _changed(self, task: str, *, paces: rates.Paces | None = None, concurrency: int | None = None) -> Mapping[str, str]:
        def text(before: str) -> str:
            known = limiting.read(before)
            return limiting.write(Change(
                known.paces if paces is None else paces, known.concurrency if concurrency is None else concurrency,
            ))  # fmt: skip

        return self._controlling.change(
            lambda record, clock, nonce: with_limits(record, task, text(record.limits.get(task, "")), clock, nonce)
        ).limits

    def _limitable(self, task: str) -> None:
        spec = self._registry.tasks.get(task)
        if spec is None:
            raise OptionError(f"task: {task!r} is none of this app's tasks")
        if spec.delivery != "claimed":
            raise OptionError(f"task: {task!r} is delivered {spec.delivery} and may run twice in one slot; only a claimed one is limited")
