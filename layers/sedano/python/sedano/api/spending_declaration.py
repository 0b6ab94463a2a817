"""The declaration of a spending limit, checked when it is declared; see `Sedano.spending`."""

from __future__ import annotations

from sedano.engine.registry import Registry
from sedano.errors import OptionError
from sedano.model import pauses
from sedano.model.spending import SpendingLimit, nanodollars

DAY = "day"


def spending_of(registry: Registry, amount: str, tenant: str, per: str) -> SpendingLimit:
    """Return the limit of *amount* for *tenant* (empty: the whole app).

    Raises:
        OptionError: an option is not valid, or *registry* has a limit of this tenant.
    """
    if per != DAY:
        raise OptionError(f"per: {per!r} is not a period of spending; write per='day', the UTC day")
    limit = SpendingLimit(tenant, nanodollars(amount, "spending"))
    if tenant:
        pauses.pause(pauses.TENANT, tenant)
    if tenant in registry.spending:
        raise OptionError(f"spending: {limit.owner} has a limit already; declare it once")
    return limit
