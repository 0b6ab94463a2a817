"""Limits at run time: the part of `app.control` that changes how often, how many at a time, and for how long tasks run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sedano.api.control_part import ControlPart
from sedano.api.declaration import declared
from sedano.engine.registry import DELAY, require_of
from sedano.errors import MessageRefused, OptionError
from sedano.model.cluster.control_record import with_limits
from sedano.model.limits import rate as rates
from sedano.model.limits import task_limits as limiting
from sedano.model.limits.concurrency import BOARD_SIZE, boards_of, running
from sedano.model.limits.rate import RateText
from sedano.model.limits.task_limits import UNLIMITED, LimitChange, Range
from sedano.model.queues import is_fifo
from sedano.model.tasks.task_spec import TaskSpec
from sedano.ports.absent import require


class LimitControl(ControlPart):
    """Changes limits in the control record. They apply until they are changed again, also across deployments."""

    def rate_limit(self, task: str, rate: RateText | Sequence[RateText] | None, burst: int | Sequence[int] = 1) -> Mapping[str, str]:
        """Change how often *task* may start, until `restore_limits` (Celery's `control.rate_limit`).

        A worker reads the change when it starts and with each heartbeat, so a running worker may take up to its heartbeat interval; until
        then some workers apply the old rate and others the new one. Slots given under the old rate are void.

        Args:
            task: the task's name.
            rate: as in ``@app.task(rate=…)``; None lifts the limit.
            burst: as in ``@app.task(burst=…)``.

        Returns:
            all limits that differ from those declared, by task.

        Raises:
            OptionError: the app has no such task, it cannot be limited, or the rate is not valid.
            Unavailable: the store did not answer; asking again is safe.
        """
        self._limitable(task)
        require_of(self._ports, DELAY, f"a rate of the task {task}")
        if rate is not None and is_fifo(self._registry.tasks[task].queue):
            raise OptionError(f"task: {task!r} keeps order and cannot be requeued; limit how many run at a time, or pause it")
        paces = () if rate is None else rates.paces(rate, burst)
        return self._changed(task, paces=paces)

    def concurrency(self, task: str, limit: int | None) -> Mapping[str, str]:
        """Change how many of *task* run at a time, until `restore_limits`: 0 suspends it, None lifts the limit.

        If the limit is lowered, running bodies continue, and a new one starts where a permit below *limit* is free: until those that hold
        the permits above it have ended, more than *limit* may run. Messages that already wait may be woken later if the limit passes ten.

        Raises:
            OptionError: the app has no such task, it cannot be limited, or the limit is not a number from 0 to 1 000.
        """
        self._limitable(task)
        found = UNLIMITED if limit is None else limiting.concurrency(limit)
        if isinstance(found, Range):
            raise OptionError("concurrency: a Range is declared with the task, because its function is code; give a number")
        return self._changed(task, concurrency=found)

    def time_limit(self, task: str, soft: float | None = None, hard: float | None = None) -> Mapping[str, str]:
        """Change how long bodies of *task* may run, until `restore_limits` (Celery's `control.time_limit`).

        Running workers read the change as for `rate_limit`; a running body keeps the limits under which it began.

        Args:
            task: the task's name.
            soft: seconds after which the body is asked to end; None: never.
            hard: seconds after which it is ended; None: never.

        Returns:
            all limits that differ from those declared, by task.

        Raises:
            OptionError: the app has no such task, a limit is not a number of seconds above 0, or *soft* is not below *hard*.
            Unavailable: the store did not answer; asking again is safe.
        """
        self._spec(task)
        declared({"soft_time_limit": soft, "time_limit": hard})
        return self._changed(task, time=(soft, hard))

    def restore_limits(self, task: str) -> Mapping[str, str]:
        """Restore all limits of *task*, including time limits, to the declared ones. Permits above its declared limit stay in the list of
        locks until the bodies that hold them have ended.

        Returns:
            all limits that differ from those declared, by task.

        Raises:
            OptionError: the app has no such task.
            Unavailable: the store did not answer; asking again is safe.
        """
        spec = self._spec(task)
        return self._written(task, lambda before: self._left(spec, _readable(before)))

    def _changed(
        self, task: str, *, paces: rates.Paces | None = None, concurrency: int | None = None,
        time: tuple[float | None, float | None] | None = None,
    ) -> Mapping[str, str]:  # fmt: skip
        def text(before: str) -> str:
            known = _readable(before)
            return limiting.write(LimitChange(
                known.paces if paces is None else paces, known.concurrency if concurrency is None else concurrency,
                known.time if time is None else time, max(known.most, known.concurrency or 0, concurrency or 0),
            ))  # fmt: skip

        return self._written(task, text)

    def _written(self, task: str, text: Callable[[str], str]) -> Mapping[str, str]:
        """Write *text* of the change of *task* before, and return the changes of all tasks that change a limit."""
        limits = self._controlling.change(
            lambda record, clock, nonce: with_limits(record, task, text(record.limits.get(task, "")), clock, nonce)
        ).limits
        return {name: one for name, one in limits.items() if not limiting.is_as_declared(one)}

    def _left(self, spec: TaskSpec, before: LimitChange) -> str:
        """Return what is left of the change *before* when the declared limits are restored: its highest limit, while a body holds a permit
        above those that are read anyway."""
        limits, most = spec.limits, max(before.most, before.concurrency or 0)
        if limits is None or limits.concurrency is None or limits.concurrency_key is not None:
            return ""
        read = max(limiting.highest(limits.concurrency), BOARD_SIZE)
        if most <= read:
            return ""
        held = running(self._ports.limits.boards(f"{spec.name}/", boards_of(most)), int(self._ports.clock.now() * 1_000))
        return limiting.write(LimitChange(most=most)) if any(permit.number >= read for permit in held) else ""

    def _spec(self, task: str) -> TaskSpec:
        spec = self._registry.tasks.get(task)
        if spec is None:
            raise OptionError(f"task: {task!r} is not one of this app's tasks")
        return spec

    def _limitable(self, task: str) -> None:
        spec = self._spec(task)
        require(self._ports.limits, f"a limit of the task {task}")
        if spec.delivery != "claimed":
            raise OptionError(f"task: {task!r} is delivered {spec.delivery} and may run twice in a slot; only a claimed one is limited")


def _readable(text: str) -> LimitChange:
    """Return the change that *text* describes; an unreadable one counts as empty."""
    try:
        return limiting.read(text)
    except MessageRefused:
        return LimitChange()
