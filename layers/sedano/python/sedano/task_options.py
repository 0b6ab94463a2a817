"""The options of `@app.task(…)`, for people and type checkers; `sedano.declaration` checks them when the program runs."""

from __future__ import annotations

from typing import TypedDict

from sedano.engine.registry import OnBusy
from sedano.model.breaker import Breaker
from sedano.model.retry import Retry
from sedano.model.signature import Delivery
from sedano.singleton import Singleton


class TaskOptions(TypedDict, total=False):
    """What a task may be declared with.

    name: how messages name it; by default ``<module>.<function>``.
    queue: the command queue it is sent to.
    delivery: ``claimed`` (one recorded effect, 2 writes), ``record_once`` (one recorded effect, runs may overlap, 1 write) or
        ``at_least_once`` (no write without a result).
    retry: a policy; ``False`` for none; by default the app's.
    ignore_result: keep no result.
    expires: seconds after publication from which it must not start any more.
    singleton: ``True``: one run of it at a time; the name of a parameter, or a function of the arguments: one run at a time for
        each value. `current().token` rises with each run, for guards.
    on_busy: what becomes of a singleton that finds another run: ``wait`` (as a message, woken when the run ends), ``drop`` (it
        ends as revoked) or ``raise`` (it fails).
    circuit: ``True``, or a `sedano.Breaker(…)`: after failures of the task, or of health checks, it is left alone for a while.
    """

    name: str | None
    queue: str
    delivery: Delivery
    retry: Retry | bool | None
    ignore_result: bool
    expires: float | None
    singleton: Singleton
    on_busy: OnBusy
    circuit: Breaker | bool
