"""The tenants of each queue by the time that their tasks took, and which of them is noisy. Pure.

A tenant is noisy where it takes most of a queue's time from others: at least half of it, and at least one and a half times an equal share.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from sedano.model.history.registers import Timeline
from sedano.model.messages.stamps import TENANT, said

MOST_OF_TIME, MORE_THAN_EQUAL = 0.5, 1.5
"""The share of a queue's time from which a tenant is noisy, and how many times an equal share."""


class TenantLoad(NamedTuple):
    """The *tasks* of one *tenant* (empty: calls without one) on a *queue*, the seconds that they *ran*, and their *share* of all that ran.

    *waited*: the median of the seconds for which they waited; None: not known. *noisy*: see the module.
    """

    queue: str
    tenant: str
    tasks: int
    ran: float
    share: float
    waited: float | None
    noisy: bool


def tenant_loads(tasks: Iterable[Timeline], since: float) -> list[TenantLoad]:
    """Return the tenants of the *tasks* with an event *since* that moment (epoch s), by queue, the largest share first.

    A task whose queue is not known yet, because a worker held it back, is left out.
    """
    found: dict[str, dict[str, list[Timeline]]] = defaultdict(lambda: defaultdict(list))
    for task in tasks:
        queue = str(task.fields["queue"] or "").removeprefix("commands:")
        if queue and max(task.times.values(), default=0.0) >= since:
            found[queue][said(task.fields["stamps"]).get(TENANT, "")].append(task)
    return [load for queue in sorted(found) for load in _loads(queue, found[queue])]


def _loads(queue: str, tenants: dict[str, list[Timeline]]) -> list[TenantLoad]:
    ran = {tenant: sum(one.run_seconds or 0.0 for one in some) for tenant, some in tenants.items()}
    whole = sum(ran.values())
    share = {tenant: took / whole if whole else 0.0 for tenant, took in ran.items()}
    least = max(MOST_OF_TIME, MORE_THAN_EQUAL / len(tenants))
    loads = [
        TenantLoad(
            queue=queue, tenant=tenant, tasks=len(some), ran=ran[tenant], share=share[tenant], waited=_median(some),
            noisy=bool(tenant) and len(tenants) > 1 and share[tenant] >= least,
        )
        for tenant, some in tenants.items()
    ]  # fmt: skip
    return sorted(loads, key=lambda one: (-one.share, -one.tasks, one.tenant))


def _median(tasks: Sequence[Timeline]) -> float | None:
    waits = [one.wait_seconds for one in tasks if one.wait_seconds is not None]
    return median(waits) if waits else None
