"""The gates of a worker in the order in which they are called. A new one needs its class (`sedano.engine.gate`) and one entry here.

Gates that end a task are first, so that nothing is held back, counted or taken for it. Then gates that may stop many messages without a
call to a store, then gates that call one, each after the gates that could make the call unnecessary.

A gate is loaded only on an occasion that needs it; until then its module costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from sedano.engine.expiry import Expiry
from sedano.engine.gate import Gate
from sedano.engine.revocation.revocation_gate import Revocations
from sedano.engine.task_context import TaskContext
from sedano.engine.worker.admission import Admission, GateEntry, Occasion, Workplace
from sedano.engine.worker.poison_messages import Poison
from sedano.model.messages.message import TIMER_OPENING

if TYPE_CHECKING:
    from sedano.engine.elections import Gossip
    from sedano.model.priority import Strategy

ELECTIONS = "elections"


def _pauses(here: Workplace) -> Gate:
    from sedano.engine.pauses import Pauses

    return Pauses(here.ports, here.membership, here.arguments)


def _timers(here: Workplace) -> Gate:
    from sedano.engine.timers import Envelopes

    return Envelopes(here.ports)


def _order(here: Workplace) -> Gate:
    from sedano.engine.order import Order

    return Order(here.ports, here.parking)


def _circuits(here: Workplace) -> Gate:
    from sedano.engine.circuits import Circuits

    return Circuits(here.registry, here.ports)


def _limits(here: Workplace) -> Gate:
    from sedano.engine.limits.limit_gate import Limiting

    return Limiting(here.ports, here.lamport, here.name, here.lanes, here.arguments)


def _elections(here: Workplace) -> Gate:
    from sedano.engine.elections import Gossip

    return Gossip(here.registry, here.ports, here.lamport, here.name)


def _singletons(here: Workplace) -> Gate:
    from sedano.engine.leases import Leasing
    from sedano.engine.singletons import Singletons

    return Singletons(here.ports, Leasing(here.ports), here.arguments)


def _priority(here: Workplace) -> Gate:
    from sedano.engine.priority import Preferring

    return Preferring(here.ports, cast("Strategy", here.registry.prefer), here.lanes)  # wanted of an app that has one


def _always(_: Occasion) -> bool:
    return True


def _has_circuits(at: Occasion) -> bool:
    return any(task.circuit is not None for task in at.tasks) or any(check.inbox for check in at.registry.checks.values())


GATES: Sequence[GateEntry] = (
    # An expired task ends, even if another gate would hold it: it cannot become timely again.
    GateEntry("expiry", _always, lambda here: Expiry(here.ports)),
    # A revoked task ends before it is counted as a poison, or waits for the end of a pause.
    GateEntry("revocation", _always, lambda here: Revocations(here.membership)),
    # A message that was delivered too often ends before it takes a permit or a lease once more.
    GateEntry("poison", _always, lambda here: Poison(here.spared, here.poison_after)),
    # A paused message is not even decoded, and an envelope in a paused queue is not opened. No store is read for a message that will wait.
    GateEntry("pauses", lambda at: bool(at.control.paused), _pauses),
    # An envelope holds the command that all others are about.
    GateEntry("timers", lambda at: any(one.body.startswith(TIMER_OPENING) for one in at.deliveries), _timers),
    # The turns within a key are known before any of its jobs asks for what only one of them may have.
    GateEntry("order", lambda at: any(one.serial_key is not None for one in at.deliveries), _order),
    # A task whose circuit is open takes no slot of a rate and no permit.
    GateEntry("circuits", _has_circuits, _circuits),
    # A task waits for a slot or a permit outside this worker, so a task admitted here may wait for only two more things:
    GateEntry("limits", lambda at: bool(at.limits) or any(task.limits is not None for task in at.tasks), _limits),
    # the winner of an election, a question to the store that costs nothing to give back,
    GateEntry(ELECTIONS, lambda at: bool(at.registry.led), _elections),
    # and a lease, which is asked for last because it keeps all others out until it is released: it is released first.
    GateEntry("singletons", lambda at: any(task.singleton is not None for task in at.tasks), _singletons),
    # The remaining jobs are put in the order in which the app prefers their bodies to begin.
    GateEntry("priority", lambda at: at.registry.prefer is not None, _priority),
)
"""All gates. Each is called at the moments that it overrides; they release in the opposite order."""


def voting(admission: Admission) -> Callable[[TaskContext, str, bool, Sequence[Any]], None]:
    """Return the function that opens an election, or takes part in one, for a running command; see `Gossip.vote`."""

    def vote(context: TaskContext, election_id: str, last: bool, about: Sequence[Any] = ()) -> None:
        cast("Gossip", admission.gate(ELECTIONS)).vote(context, election_id, last, about)

    return vote
