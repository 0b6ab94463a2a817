"""`app.control`: look at the cluster, and change what runs in it, with Celery's names.

    app.control.revoke(result.id)                       # it will not run; a running task is not retried
    app.control.revoke(result.id, terminate=True)       # a running task ends at its next `current().check()`
    app.control.revoke_by_header("tenant", "acme")      # everything of that tenant, until it is restored
    app.control.members()                               # the workers: ACTIVE, IDLE, LOST, LEFT
    app.control.broadcast("ping")                       # a command to each worker, under a seal (`sedano.api.inbox`)

All but the last only read and write the stores, and need no answer from a worker.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from functools import partial
from typing import Any

from sedano.api.configuration_control import ConfigurationControl
from sedano.api.elections import about
from sedano.api.inbox import InboxControl
from sedano.api.inspection import Inspect, Inspects
from sedano.api.run_time_limits import LimitControl
from sedano.api.scale_control import ScaleControl
from sedano.canvas import Sig
from sedano.canvas.election import elect
from sedano.engine import reruns
from sedano.engine.cluster import control as engine
from sedano.engine.cluster.control import Controlling
from sedano.engine.cluster.explanation import Explanation, explain
from sedano.engine.registry import Registry
from sedano.engine.revocation.timed_tasks import withdraw
from sedano.errors import OptionError, SedanoError
from sedano.errors.hints import Hinting
from sedano.model import pauses
from sedano.model.cluster.control_record import ControlRecord, pair, with_pauses, with_revoked, without
from sedano.model.cluster.members import STALE_S, Member
from sedano.model.elections import TIMEOUT_S, Mode
from sedano.model.messages.stamps import HEADERS
from sedano.model.packs import is_pack
from sedano.ports import Ports
from sedano.ports.absent import has
from sedano.result import AsyncResult
from sedano.result.waits import must_be_id

KNOWN = (*HEADERS, pauses.QUEUE)
"""The headers that every task has; any other name is a stamp's."""
NEAR = 0.8
"""The similarity, up to 1, from which one name counts as a misspelling of another: `tenent`, `tenants` and `rootid` do, `team` does not."""


class Control(LimitControl, InboxControl, ConfigurationControl, ScaleControl, Hinting):
    """The control panel of one app."""

    def __init__(self, app: Inspects) -> None:
        """Control the deployment of *app*."""
        self._app = app
        self._bound: tuple[Ports, Controlling] | None = None

    def revoke(self, task_id: str | Sequence[str], *, terminate: bool = False) -> list[str]:
        """Revoke any number of tasks by id; a revocation does not expire.

        A waiting task becomes REVOKED at once and will not run; if it waits for longer than 900 s, its timer is cancelled. A running task
        is marked: it is not retried, and with *terminate* its body raises `TaskRevoked` at its next `current().check()`. A task that has
        ended does not change. A task with ``delivery="record_once"`` may still run, but its result is not recorded; one with
        ``at_least_once`` can be revoked by header only.

        Returns:
            the current state of each task by id: REVOKED, RUNNING (marked), or the state in which it had ended.

        Raises:
            OptionError: the id is missing, for example because the task was never published; or it is the id of a pack.
            Unavailable: the ledger or the timers did not answer; revoking again is safe.
        """
        outlet = self._app.outlet
        given: Any = task_id
        ids = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
        if not all(isinstance(one, str) and one for one in ids):
            raise OptionError(f"task_id: {task_id!r} is not an id; give a task's (result.id), or several in a list")
        if pack := next(filter(is_pack, ids), None):
            raise OptionError(f"task_id: {pack!r} is a pack, whose members end apart; give the ids of its members, or revoke the group")
        return [withdraw(outlet.ports, outlet.lamport, one, terminate=terminate) for one in ids]

    def retry(
        self, task_id: str, *, args: Sequence[Any] | None = None, kwargs: Mapping[str, Any] | None = None
    ) -> AsyncResult[Any]:  # fmt: skip
        """Run a task that ended without success again, with its arguments, as a new task.

        The new id is derived from *task_id*, so calling this twice runs it once. The new task never expires. It is not part of the first
        task's canvas: it does not arrive at its join, and no step follows it. Arguments are kept for 44 days, unless the task declares
        ``keep_arguments=False``.

        Args:
            task_id: the id of the task that ended.
            args: other positional arguments; None: those of the first run.
            kwargs: other keyword arguments; None: those of the first run.

        Returns:
            the result of the new run.

        Raises:
            RerunRefused: it has not ended, it succeeded, it was run again before, or its arguments were not kept; the message says which.
            OptionError: the id is missing.
            ArgumentError: the task does not take *args* and *kwargs*.
            Unavailable: the ledger or the queue did not answer; calling again is safe.
        """
        outlet = self._app.outlet
        (found,) = reruns.planned(outlet.ports, [must_be_id(task_id)])
        if isinstance(found, SedanoError):
            raise found
        if args is not None or kwargs is not None:
            found = reruns.edited(found, args, kwargs, outlet.registry)
        (error,) = reruns.publish(outlet.ports, [found])
        if error is not None:
            raise error
        return AsyncResult(outlet, found.command.task_id)

    def revoke_by_header(self, header: str, value: str) -> frozenset[str]:
        """Revoke every task whose message has *header* with *value*, including retries and descendants, until it is restored.

        A worker reads revocations when it starts, with each heartbeat, and before a body that begins a second or more after its batch, so a
        running worker may take up to its heartbeat interval. The call cannot check whether any message has the header, because publishing
        writes no record and later publications count too. The metric `TasksRevoked`, the history, and `explain` of each task ("revoked by
        tenant=acme") show the revoked tasks.

        Args:
            header: ``tenant``, ``task`` (its name), ``queue`` (that it is received from), ``root_id``, ``parent_id``, ``source``, or the
                name of a stamp. A stamp's name that resembles a header's is refused here, but accepted by `revoke_by_stamped_headers`.
            value: the header's value. Only the name of a queue is checked, because other programs may declare other tasks.

        Returns:
            all pairs that are revoked now, such as ``tenant=acme``.

        Raises:
            OptionError: tasks cannot be revoked by that header, it seems misspelt, or the app has no such queue.
            TooLarge: the control record is full and cannot hold another pair.
        """
        near = get_close_matches(header, KNOWN, n=1, cutoff=NEAR)
        if near and header not in KNOWN:
            instead = f"for a stamp of that name write revoke_by_stamped_headers({{{header!r}: {value!r}}})"
            raise OptionError(f"header: {header!r} is not one of {', '.join(KNOWN)}; did you mean {near[0]}? {instead}")
        found = self._pair(header, value)
        return frozenset(self._controlling.change(lambda record, clock, nonce: with_revoked(record, found, clock, nonce)).revoked)

    def revoke_by_stamped_headers(self, headers: Mapping[str, str | Sequence[str]]) -> frozenset[str]:
        """Revoke by several headers, each with one value or more (Celery's form of `revoke_by_header`), in one change."""
        found = [self._pair(h, v) for h, values in headers.items() for v in ([values] if isinstance(values, str) else values)]
        return frozenset(self._controlling.change(partial(_with_all, found)).revoked)

    def restore_by_header(self, header: str, value: str) -> frozenset[str]:
        """End a `revoke_by_header`: tasks with the header run again; those that were already revoked stay revoked."""
        found = pair(header, value)
        return frozenset(self._controlling.change(lambda record, clock, nonce: without(record, found, clock, nonce)).revoked)

    def pause(
        self, *, queue: str = "", task: str = "", tenant: str = "", circuit: str = "", id: str = "",  # noqa: A002 - as `revoke` calls it
        start: datetime | None = None, until: datetime | None = None, by: str = "", reason: str = "",
    ) -> frozenset[str]:  # fmt: skip
        """Start no tasks of a queue, a name, a tenant or a circuit, or not the task with one id, until `resume`. Messages wait and are not
        lost.

        A worker reads pauses when it starts, with each heartbeat, and before a body that begins a second or more after its batch, so a
        running worker may take up to its heartbeat interval. Tasks that have begun continue.

        Args:
            queue: one of the app's command queues.
            task: the name of one of its tasks.
            tenant: the tenant whose tasks wait.
            circuit: the name of a circuit: the task's name, unless its breaker has a name.
            id: the id of one task.
            start: when the pause begins (with a time zone); by default now. So a maintenance window can be set in advance.
            until: when it ends automatically; by default never.
            by: the name of the person who pauses it, shown to operators.
            reason: the reason, shown to operators.

        Returns:
            all pauses now, as texts such as ``mail`` (a queue) and ``task=shop.charge``.

        Raises:
            OptionError: none or several are named, the app does not have it, or the pause would end before it begins.
            Unavailable: the store did not answer; pausing again is safe.
        """
        kind, name = self._named(queue=queue, task=task, tenant=tenant, circuit=circuit, id=id)
        new = pauses.pause(kind, name, _moment("start", start), _moment("until", until))
        now = self._app.outlet.ports.clock.now()
        paused = self._repaused(lambda paused: pauses.with_pause(paused, new, now))
        self._keep_cause(kind, name, pauses.PauseCause(by, reason))
        return paused

    def resume(
        self, *, queue: str = "", task: str = "", tenant: str = "", circuit: str = "", id: str = ""  # noqa: A002 - as `revoke` calls it
    ) -> frozenset[str]:  # fmt: skip
        """End a `pause` and return the remaining pauses; a shared circuit that has tripped is closed too.

        A message that was held back meanwhile arrives after at most the time it has already waited, and within an hour.
        """
        kind, name = self._named(queue=queue, task=task, tenant=tenant, circuit=circuit, id=id)
        now = self._app.outlet.ports.clock.now()
        left = self._repaused(lambda paused: pauses.without_pause(paused, kind, name, now))
        if kind == pauses.CIRCUIT and has(self._app.outlet.ports.memos):
            engine.close_circuit(self._app.outlet.ports, name)
        return left

    def pause_queue(self, queue: str) -> frozenset[str]:
        """Pause a queue; see `pause`. Returns the names of all queues that are paused now."""
        return self._queues(self.pause(queue=queue))

    def resume_queue(self, queue: str) -> frozenset[str]:
        """End a `pause_queue` and return the queues that are still paused."""
        return self._queues(self.resume(queue=queue))

    def explain(self, task_id: str) -> Explanation:
        """Explain in one sentence why a task has not run, or that it has, with the evidence.

        Raises:
            OptionError: the id is missing.
            Unavailable: a store did not answer; asking again is safe.
        """
        return explain(self._app.outlet.ports, self._app.queues, must_be_id(task_id))

    def inspect(self) -> Inspect:
        """Return a view of the cluster with Celery's names: `active()`, `scheduled()`, `reserved()`, `stats()`, `circuits()` and others."""
        return Inspect(self._app)

    def hello(self) -> ControlRecord:
        """Return the values that a worker reads when it starts: the cluster's clock, revoked headers, paused queues."""
        return self._app.outlet.ports.control.read()

    def election(
        self, election_id: str, topic: str, action: Any = None, *, mode: Mode = "faithful", timeout: int = TIMEOUT_S
    ) -> AsyncResult[Any]:
        """Let the cluster elect a worker, which dispatches the topic's task once (Celery's `control.election`).

        The active workers register; the lowest logical clock wins, and names break ties. The dispatched task runs once, even if the winner
        dies. Calling this again while the election is open only calls the workers again.

        Args:
            election_id: the id of the election; it names the same election for eight days.
            topic: ``task`` (*action* is a signature, dispatched under the election's id), or one that `election_topic` declares.
            action: a signature, or the argument of the topic's handler.
            mode: ``faithful``, or ``fast``: the first worker that writes to the election wins, with one write.
            timeout: whole seconds (at most 900) after which the election is closed with the registered workers; an election requested by
                a task always lasts that long, because a task may not list the members.

        Returns:
            the result of the dispatched task.

        Raises:
            OptionError: the topic is not declared, or the topic is ``task`` and *action* is not a signature.
        """
        outlet = self._app.outlet
        if topic != "task":
            return elect(outlet, election_id, topic, *about(outlet, election_id, topic, action), mode=mode, timeout=timeout)
        if not isinstance(action, Sig):
            raise OptionError(f"action: the topic 'task' takes a signature (task.s(…)), not {type(action).__name__}")
        return elect(outlet, election_id, topic, action.spec, election_id, mode=mode, timeout=timeout)

    def members(self, stale: float = STALE_S) -> list[Member]:
        """Return all workers with a heartbeat in the last three days, by name, in their current state.

        Args:
            stale: seconds after which a heartbeat is out of date; a worker sends one while it is invoked, by default once a minute.
        """
        return engine.members(self._app.outlet.ports, stale)

    def _pair(self, header: str, value: str) -> str:
        """Return the pair of *header* and *value*; refuse an unknown queue, because revoking it would have no effect."""
        if header == pauses.QUEUE:
            self._named(queue=value)
        return pair(header, value)

    def _named(self, **given: str) -> tuple[str, str]:
        """Return the kind and the name of the one target that is given; refuse one that the app does not have."""
        named = [(kind, name) for kind, name in given.items() if name]
        if len(named) != 1:
            raise OptionError(f"name one of {', '.join(given)}, such as queue='default'; not {len(named)} of them")
        kind, name = named[0]
        tasks = self._app.registry.tasks
        circuits = {spec.circuit.name for spec in tasks.values() if spec.circuit is not None}
        known: Collection[str] = {pauses.QUEUE: self._app.queues, pauses.TASK: tasks, pauses.CIRCUIT: circuits}.get(kind, (name,))
        if name not in known:
            shown = tuple(one for one in known if not one.startswith("sedano."))
            raise OptionError(f"{kind}: {name!r} is not one of this app's {kind}s {shown}")
        return kind, name

    def _keep_cause(self, kind: str, name: str, cause: pauses.PauseCause) -> None:
        if has(self._ports.memos):
            engine.keep_cause(self._ports, kind, name, cause)

    def _repaused(self, change: Callable[[frozenset[str]], frozenset[str]]) -> frozenset[str]:
        return self._controlling.change(lambda record, clock, nonce: with_pauses(record, change(record.paused), clock, nonce)).paused

    def _queues(self, paused: frozenset[str]) -> frozenset[str]:
        return pauses.queues_of(paused, self._app.outlet.ports.clock.now())

    @property
    def _ports(self) -> Ports:
        return self._app.outlet.ports

    @property
    def _registry(self) -> Registry:
        return self._app.registry

    @property
    def _queue_names(self) -> Sequence[str]:
        return self._app.queues

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


def _moment(name: str, moment: datetime | None) -> float:
    if moment is None:
        return 0.0
    if moment.tzinfo is None:
        raise OptionError(f"{name}: {moment} has no time zone; write datetime(…, tzinfo=UTC)")
    return moment.timestamp()
