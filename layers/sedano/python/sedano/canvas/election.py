"""An election that dispatches a signature, and the result of the task that it dispatches."""

from __future__ import annotations

from typing import Any

from sedano.engine.publisher.publisher import Outlet
from sedano.engine.task_context import CURRENT
from sedano.errors import OptionError
from sedano.model.cluster.members import ACTIVE
from sedano.model.elections import ANYBODY, LONGEST_S, Election, Mode
from sedano.model.tasks.signature import Signature
from sedano.ports.absent import has, require
from sedano.result import AsyncResult


def elect(
    outlet: Outlet, election_id: str, topic: str, signature: Signature, task_id: str, *, mode: Mode, timeout: int
) -> AsyncResult[Any]:
    """Hold the election *election_id*, which dispatches *signature* as the task *task_id*, and return that task's result."""
    keeps = hold(outlet, election_id, topic, signature, task_id, mode=mode, timeout=timeout)
    return AsyncResult(outlet, task_id, keeps=keeps)


def hold(outlet: Outlet, election_id: str, topic: str, signature: Signature, task_id: str, *, mode: Mode, timeout: int) -> bool:
    """Hold the election *election_id*, which dispatches *signature* as the task *task_id*; return whether that task keeps a result.

    Raises:
        OptionError: *mode* or *timeout* (whole seconds) is not valid.
        PortMissing: the deployment has no elections.
    """
    from sedano.engine.cluster.control import members
    from sedano.engine.elections import opening, sudden, written

    if mode not in ("faithful", "fast"):
        raise OptionError(f"mode: {mode!r} is neither 'faithful' nor 'fast'")
    if not 0 <= timeout <= LONGEST_S:
        raise OptionError(f"timeout: {timeout} is not between 0 and {LONGEST_S} seconds")
    require(outlet.ports.elections, f"the election {election_id!r}")
    draft = outlet.drafting.prepare(signature, task_id)
    election = Election(election_id, topic, task_id, written(draft))
    if mode == "fast":
        outlet.post([sudden(election, draft.queue, outlet.drafting.fresh_id())])
        return not draft.command.ignore_result
    blind = CURRENT.get() is not None or not has(outlet.ports.members)
    need = ANYBODY if blind else frozenset(m.name for m in members(outlet.ports) if m.state == ACTIVE)
    outlet.post([opening(election._replace(need=need), draft.queue, timeout, outlet.drafting.fresh_id())])
    return not draft.command.ignore_result
