"""`app.control`: look at the cluster, and change what runs in it, with Celery's names. Nothing is broadcast, so nothing goes unanswered.

    app.control.revoke(result.id)                       # before it runs; a running one is not tried again
    app.control.revoke(result.id, terminate=True)       # a running one meets it at its next `current().check()`
    app.control.revoke_by_header("tenant", "acme")      # everything of that tenant, until it is restored
    app.control.members()                               # who works: ACTIVE, IDLE, LOST, LEFT
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Protocol

from sedano.engine import control as engine
from sedano.engine.control import Controlling
from sedano.engine.revocation import revoke
from sedano.model.cluster import STALE_S, Member
from sedano.model.control import ControlRecord, pair, with_revoked, without
from sedano.outlet import Outlet
from sedano.ports import Ports


class Publishes(Protocol):
    """What the control panel needs of its app."""

    @property
    def outlet(self) -> Outlet:
        """The way out."""


class Control:
    """The control panel of one app."""

    def __init__(self, app: Publishes) -> None:
        """Control what *app* runs."""
        self._app = app
        self._bound: tuple[Ports, Controlling] | None = None

    def revoke(self, task_id: str | Sequence[str], *, terminate: bool = False) -> list[str]:
        """Revoke tasks by id: durable, without a limit on how many.

        A task that waits is REVOKED at once and will not run. One that runs is marked: it is not tried again, and with *terminate* its body
        meets `TaskRevoked` at its next `current().check()`. One that ended stays as it is. A task that is delivered ``record_once`` may
        still run, but what it returns is not recorded; one that is delivered ``at_least_once`` is revoked by header only.

        Returns:
            for each id the task's state now: REVOKED, RUNNING (it is marked), or the state in which it had ended.

        Raises:
            Unavailable: the ledger did not answer; revoking again is safe.
        """
        outlet = self._app.outlet
        ids = [task_id] if isinstance(task_id, str) else task_id
        return [revoke(outlet.ports, outlet.lamport, one, terminate=terminate) for one in ids]

    def revoke_by_header(self, header: str, value: str) -> frozenset[str]:
        """Revoke every task whose message bears *header* with *value*, retries and descendants too, until it is restored.

        A worker learns of it when it starts and with its heartbeats, so a running worker may need as long as its heartbeat's interval.

        Args:
            header: ``tenant``, ``task`` (its name), ``root_id``, ``parent_id`` or ``source``.
            value: what the header holds.

        Returns:
            all pairs that are revoked now, such as ``tenant=acme``.

        Raises:
            OptionError: tasks cannot be revoked by that header.
        """
        found = pair(header, value)
        return self._controlling.change(lambda record, clock, nonce: with_revoked(record, found, clock, nonce)).revoked

    def revoke_by_stamped_headers(self, headers: Mapping[str, str | Sequence[str]]) -> frozenset[str]:
        """Revoke by several headers, each with one value or more (Celery's form of `revoke_by_header`), in one change."""
        found = [pair(h, v) for h, values in headers.items() for v in ([values] if isinstance(values, str) else values)]
        return self._controlling.change(partial(_with_all, found)).revoked

    def restore_by_header(self, header: str, value: str) -> frozenset[str]:
        """Take back `revoke_by_header`: tasks that bear the header run again; those that were revoked already stay so."""
        found = pair(header, value)
        return self._controlling.change(lambda record, clock, nonce: without(record, found, clock, nonce)).revoked

    def hello(self) -> ControlRecord:
        """Return what a worker learns when it starts: the cluster's clock, revoked headers, the configuration's version, paused queues."""
        return self._app.outlet.ports.control.read()

    def members(self, stale: float = STALE_S) -> list[Member]:
        """Return every worker that was heard of in the last 30 days, by name, as it is now.

        Args:
            stale: seconds after which a heartbeat says nothing any more; a worker beats when it is invoked, by default once a minute.
        """
        return engine.members(self._app.outlet.ports, stale)

    @property
    def _controlling(self) -> Controlling:
        outlet = self._app.outlet
        if self._bound is None or self._bound[0] is not outlet.ports:
            self._bound = (outlet.ports, Controlling(outlet.ports, outlet.lamport))
        return self._bound[1]


def _with_all(found: Sequence[str], record: ControlRecord, clock: int, nonce: str) -> ControlRecord:
    for one in found:
        record = with_revoked(record, one, clock, nonce)
    return record
