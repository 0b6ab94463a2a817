"""The options of `@app.task(…)`, for people and type checkers; `sedano.api.declaration` checks them when the program runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypedDict

from sedano.api.documents import DocumentType, Sink
from sedano.api.loops import Loop
from sedano.api.singletons import Singleton
from sedano.model.circuits import Breaker
from sedano.model.limits.rate import RateText
from sedano.model.limits.task_limits import Concurrency
from sedano.model.retry import Retry
from sedano.model.tasks.signature import Delivery
from sedano.model.tasks.task_spec import OnBusy
from sedano.task import Task

Receiver = Sink | Task[Any, Any] | str
"""The receiver of a document: a sink, itself or its name, or a task."""
Origin = DocumentType | Task[Any, Any]
"""The origin of a document: its kind, or the task whose result it is."""


class TaskOptions(TypedDict, total=False):
    """The options of a task's declaration.

    name: the task's name in messages; by default ``<module>.<function>``.
    queue: the command queue it is sent to.
    delivery: ``claimed`` (one recorded effect, 2 writes), ``record_once`` (one recorded effect, runs may overlap, 1 write) or
        ``at_least_once`` (no write without a result).
    retry: a policy; ``False`` for none; by default the app's.
    ignore_result: keep no result.
    keep_arguments: keep the arguments of a run that ended without success for 44 days, so that `sedano retry` can run it again; ``False``
        for arguments that must not be stored.
    expires: seconds after publication, after which the task must not start.
    singleton: ``True``: one run of the task at a time; the name of a parameter, or a function of the arguments: one run at a time for each
        value. `current().token` increases with each run, for guards.
    on_busy: what a singleton does while another run is active: ``wait`` (as a message, woken when the run ends), ``drop`` (end as revoked)
        or ``raise`` (fail).
    time_limit: seconds after which the running body is ended; the task has failed and is not retried.
    soft_time_limit: seconds after which `SoftTimeLimitExceeded` is raised inside the running body; an async one is cancelled.
    loop: the library whose event loop runs an `async def` function: ``asyncio``, or ``trio`` (the extra ``sedano[trio]``), under which each
        body runs in its own thread.
    circuit: ``True``, or a `sedano.Breaker(…)`: after failures of the task, or of health checks, it is paused for a while.
    rate: how often it may start, as ``"200/m"``, ``"10/s"``, or a number per second; several windows as a tuple. A call above the rate gets
        a later slot and is requeued until then.
    burst: how many may start at once, 1 by default; one number, or one for each window. In any window W at most ``W x rate + burst`` start,
        give or take two seconds.
    key: each key has a rate (a batch, a quiet period) of its own: a text with the names of parameters in braces, ``"{user_id}"``, or a
        function of the arguments.
    per: ``"worker"``: each worker has its own rate; by default all workers share one.
    concurrency: how many run at a time in the whole deployment; 0 stops the task; or a `sedano.Range(low, high, function)`.
    concurrency_key: apply *concurrency* to each key separately; as *key*.
    priority: the band: the task is sent to the queue ``<queue>-<band>``, which must be one of the app's.
    tenant: the tenant of a call, as *key*, unless the publication names it: one tenant's calls do not delay another's (SQS fair queues).
    debounce: seconds, or ``"30s"``: only the last of several calls runs, when less than this time passes between them.
    serial_key: required with a *queue* whose name ends in ``.fifo``: calls with one key, as *key*, run one at a time, in the order in which
        they were published; the next begins when the one before has ended, including its retries.
    sinks: where each result goes as a document: sinks of the app (``app.sink("bi")``), their names, or tasks that are called with the
        document; one or a list.
    on: the documents with which the task is called: kinds (``app.document("price")``), or tasks whose results they are; one or a list.
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
    loop: Loop
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
    sinks: Receiver | Sequence[Receiver]
    on: Origin | Sequence[Origin]
