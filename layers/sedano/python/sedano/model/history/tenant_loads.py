"""The tenants of each queue by the run time of their tasks, with a mark on noisy ones. Pure.

A tenant is noisy if it takes much of a queue's time from other tenants: at least half, and at least one and a half times an equal share. So
a tenant that is alone on a queue is never noisy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from sedano.model.history.registers import Timeline
from sedano.model.messages.stamps import TENANT, from_event

MOST_OF_TIME, MORE_THAN_EQUAL = 0.5, 1.5
"""The thresholds of a noisy tenant: the share of a queue's time, and the multiple of an equal share."""


class TenantLoad(NamedTuple):
    """The load of one *tenant* (empty: calls without a tenant) on a *queue*: its *tasks*, the seconds that they *ran*, and their *share* of
    the queue's time.

    *waited*: the median of the seconds for which they waited, or None if unknown. *noisy*: see the module.
    """

    queue: str
    tenant: str
    tasks: int
    ran: float
    share: float
    waited: float | None
    noisy: bool


def tenant_loads(tasks: Iterable[Timeline], since: float) -> list[TenantLoad]:
    """Return the loads of the tenants whose *tasks* have an event *since* that time (epoch s), by queue, the largest share first.

    A task whose queue is not known yet, because a worker deferred it, is ignored.
    """
    found: dict[str, dict[str, list[Timeline]]] = defaultdict(lambda: defaultdict(list))
    for task in tasks:
        queue = str(task.fields["queue"] or "").removeprefix("commands:")
        if queue and max(task.times.values(), default=0.0) >= since:
            found[queue][from_event(task.fields["stamps"]).get(TENANT, "")].append(task)
    return [load for queue in sorted(found) for load in _loads(queue, found[queue])]


def _loads(queue: str, tenants: dict[str, list[Timeline]]) -> list[TenantLoad]:
    ran = {tenant: sum(one.run_seconds or 0.0 for one in some) for tenant, some in tenants.items()}
    whole = sum(ran.values())
    share = {tenant: took / whole if whole else 0.0 for tenant, took in ran.items()}
    least = max(MOST_OF_TIME, MORE_THAN_EQUAL / len(tenants))
    loads = [
        TenantLoad(
            queue=queue, tenant=tenant, tasks=len(some), ran=ran[tenant], share=share[tenant], waited=_median(some),
            noisy=bool(tenant) and share[tenant] >= least,
        )
        for tenant, some in tenants.items()
    ]  # fmt: skip
    return sorted(loads, key=lambda one: (-one.share, -one.tasks, one.tenant))


def _median(tasks: Sequence[Timeline]) -> float | None:
    waits = [one.wait_seconds for one in tasks if one.wait_seconds is not None]
    return median(waits) if waits else None
