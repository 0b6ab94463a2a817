"""The estimated cost of a canvas, from the roll-ups of the last day."""

from __future__ import annotations

from sedano.engine.publisher.publisher import Outlet
from sedano.model.canvas.tree import Tree, calls_of
from sedano.model.history.cost_estimates import CostEstimate, estimate
from sedano.model.history.rollups import MINUTE_S, read
from sedano.ports.absent import require

DAY_MINUTES = 1_440


def estimated(outlet: Outlet, tree: Tree) -> CostEstimate:
    """Return the estimated cost of the tasks of *tree*.

    Raises:
        PortMissing: the deployment has no roll-ups.
        Unavailable: the store did not answer.
    """
    ports = outlet.ports
    require(ports.rollups, "the estimate of a canvas")
    now = int(ports.clock.now()) // MINUTE_S
    texts = (one.text for one in ports.rollups.read(now - DAY_MINUTES, now) or ())
    return estimate(calls_of(tree), (sums for sums in map(read, texts) if sums is not None))
