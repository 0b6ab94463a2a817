"""The options of `@app.task(…)`, for people and type checkers; `sedano.api.declaration` checks them when the program runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypedDict

from sedano.api.singletons import Singleton
from sedano.engine.registry import OnBusy
from sedano.model.circuits import Breaker
from sedano.model.limits.rate import RateText
from sedano.model.limits.task_limits import Concurrency
from sedano.model.retry import Retry
from sedano.model.tasks.signature import Delivery


class TaskOptions(TypedDict, total=False):
    """The options of a task's declaration.

    name: how messages name it; by default ``<module>.<function>``.
    queue: the command queue it is sent to.
    delivery: ``claimed`` (one recorded effect, 2 writes), ``record_once`` (one recorded effect, runs may overlap, 1 write) or
        ``at_least_once`` (no write without a result).
    retry: a policy; ``False`` for none; by default the app's.
    ignore_result: keep no result.
    keep_arguments: keep the arguments of a run that ended without success for 44 days, so that `sedano retry` can run it again; ``False``
        for arguments that no store should hold.
    expires: seconds after publication from which it must not start any more.
    singleton: ``True``: one run of it at a time; the name of a parameter, or a function of the arguments: one run at a time for
        each value. `current().token` rises with each run, for guards.
    on_busy: what becomes of a singleton that finds another run: ``wait`` (as a message, woken when the run ends), ``drop`` (it
        ends as revoked) or ``raise`` (it fails).
    time_limit: seconds after which the running body is ended; the task has failed, for good.
    soft_time_limit: seconds after which `SoftTimeLimitExceeded` is raised inside the running body; an async one is cancelled.
    circuit: ``True``, or a `sedano.Breaker(…)`: after failures of the task, or of health checks, it is paused for a while.
    rate: how often it may start, as ``"200/m"``, ``"10/s"``, or a number a second; several windows as a tuple. A call above the rate gets
        a slot and is requeued until then.
    burst: how many may start at once, 1 by default; one number, or one for each window. In any stretch of W at most ``W x rate + burst``
        start, give or take two seconds.
    key: each key has a rate (a batch, a quiet period) of its own: a text with the names of parameters in braces, ``"{user_id}"``, or a
        function of the arguments.
    per: ``"worker"``: each worker has a rate of its own; by default all together.
    concurrency: how many run at a time in the whole deployment, 0 to stop it; or a `sedano.Range(low, high, function)`.
    concurrency_key: so many at a time for each key; as *key*.
    priority: the band: the task is sent to the queue ``<queue>-<band>``, which must be one of the app's.
    tenant: who a call is for, as *key*, unless its publication names it: one tenant's calls do not hold up another's (SQS fair queues).
    debounce: seconds, or ``"30s"``: only the last of several calls runs, when less than this time passes between them.
    serial_key: with a *queue* whose name ends in ``.fifo``, and which needs it: of each key, as *key*, one call runs at a time, in the
        order in which they were published; the next begins when the one before has ended, however often it was tried.
    """

    name: str | None
    queue: str
    delivery: Delivery
    retry: Retry | bool | None
    ignore_result: bool
    keep_arguments: bool
    expires: float | None
    singleton: Singleton
    on_busy: OnBusy
    time_limit: float | None
    soft_time_limit: float | None
    circuit: Breaker | bool
    rate: RateText | Sequence[RateText]
    burst: int | Sequence[int]
    key: str | Callable[..., object]
    per: Literal["worker"]
    concurrency: Concurrency
    concurrency_key: str | Callable[..., object]
    priority: str
    tenant: str | Callable[..., object]
    debounce: float | str
    serial_key: str | Callable[..., object]
