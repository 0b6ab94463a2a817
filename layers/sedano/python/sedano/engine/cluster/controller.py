"""The controller: invoked by the minute, it looks at the whole cluster, decides (`sedano.model.cluster.controller`, pure), and acts.

    look → decide → record lost workers → report stuck claims → scale → ask for health

A queue that is scaled (`sedano scale`) has the wished number of bodies at once: processes take their shares themselves, and a round sets
Lambda's, in place of the strategy of its budget.

Each round is safe to run twice at once: every action is behind a conditional write that one of the two wins. Nothing depends on it: tasks
run, are retried, are taken over and followed up by their own messages, with or without a controller. The tasks of a dead worker are
finished by the redelivery of their messages; the controller reports dead workers, stuck claims, and the number of waiting messages.

A limit is decided first (a write that one wins), then applied (a call of Lambda's control plane), then marked as applied; a controller that
dies in between leaves a mark by which a later round applies it. That call cannot be made conditional, so a late one sets an older limit,
and so does a deployment: each round compares what is in force with what was decided.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from sedano.engine.health import RegisteredCheck, known, share
from sedano.errors import ConfigurationError, PortMissing, SedanoError
from sedano.model import budgets as budget
from sedano.model import health, pauses
from sedano.model.budgets import Level, Load
from sedano.model.cluster import forecast
from sedano.model.cluster.control_record import ControlRecord
from sedano.model.cluster.controller import Decisions, Lost, QueueBudget, Scale, Seen, decide
from sedano.model.cluster.members import MemberRecord
from sedano.model.cluster.scale import LEAST_OF_LAMBDA, lambda_share, servers
from sedano.model.health import Health
from sedano.model.memos import BUDGET, Memo, memo_name
from sedano.model.messages.lamport import LamportClock
from sedano.model.schedules.agenda import Agenda
from sedano.ports import Ports, command_queue


class ControllerRound(NamedTuple):
    """The result of one round: the numbers of workers recorded as lost, claims reported as stuck, limits changed, and checks requested."""

    lost: int = 0
    stuck: int = 0
    scaled: int = 0
    asked: int = 0


class Controller:
    """Looks after one deployment. *announce* publishes an event without fields by its name."""

    def __init__(
        self, ports: Ports, lamport: LamportClock, queues: Sequence[str], budgets: Mapping[str, QueueBudget],
        checks: Mapping[str, RegisteredCheck], announce: Callable[[str], object],
    ) -> None:  # fmt: skip
        """Look after the command *queues*, under *budgets* by queue, and the shared ones of *checks*."""
        self._ports, self._lamport, self._queues, self._budgets, self._announce = ports, lamport, queues, budgets, announce
        self._checks = {name: check for name, check in checks.items() if check.spec.shared}
        self._memos: dict[str, Memo] = {}
        self._has_schedules = True

    def round(self) -> ControllerRound:
        """Look, decide and act, once; return what was done.

        Raises:
            Unavailable: a store did not answer while it looked; nothing was done.
        """
        return self.act(self.decided(self.look()))

    def decided(self, seen: Seen) -> Decisions:
        """Return what follows from what was seen; pure."""
        return decide(self._budgets, {name: check.spec for name, check in self._checks.items()}, seen)

    def look(self) -> Seen:
        """Return the cluster as it is now."""
        ports = self._ports
        members = ports.members.read()
        tasks = list(dict.fromkeys(task_id for member in members for task_id in member.tasks))
        records = ports.ledger.read(tasks) if tasks else {}
        loads = {queue: ports.consumers.load(command_queue(queue)) for queue in self._queues}
        for queue, load in loads.items():
            self._told(queue, load)
        control, now = ports.control.read(), ports.clock.now()
        scaled = [queue for queue in control.wished if queue in self._queues]
        limits = {queue: self._in_force(queue) for queue in {*self._budgets, *scaled}}
        wished = self._wished(control, members, limits)
        levels = self._levels({*self._budgets, *wished})
        budgets = {queue: level for queue, level in levels.items() if queue in self._budgets}
        ahead = {queue: forecast.horizon(self._budgets[queue].budget, level) for queue, level in budgets.items()}
        return Seen(
            now=ports.clock.now(), members=members, records=records, loads=loads, levels=levels,
            health=known(ports, [*self._checks.values()]), paused=pauses.queues_of(control.paused, now), limits=limits,
            bursts=self._bursts(ahead), wished=wished,
        )  # fmt: skip

    def _in_force(self, queue: str) -> int | None:
        """Return the limit that the queue's consumer has; None when that cannot be known now: the next round asks again."""
        try:
            return self._ports.consumers.limit(command_queue(queue))
        except SedanoError as error:
            self._ports.telemetry.log("warning", "the limit in force is not known", queue=queue, error=str(error))
            return None

    def _bursts(self, ahead: Mapping[str, float]) -> dict[str, int]:
        """Return the most occurrences of periodic tasks within a round, by queue; *ahead*: for how many seconds each is looked at.

        A deployment without a scheduler has none, and is asked once. Without an answer the limits follow the messages alone.
        """
        if not ahead or not self._has_schedules:
            return {}
        try:
            found = self._ports.schedules.read()
        except (ConfigurationError, PortMissing):
            self._has_schedules = False
            return {}
        except SedanoError as error:
            self._ports.telemetry.log("warning", "the schedules are not known; limits follow what waits", error=str(error))
            return {}
        agendas = [agenda for agenda in found if isinstance(agenda, Agenda)]
        return forecast.bursts(agendas, ahead, self._ports.clock.now())

    def _told(self, queue: str, load: Load) -> None:
        self._ports.telemetry.count("MessagesWaiting", load.waiting, queue=queue)
        self._ports.telemetry.count("MessagesInFlight", load.running, queue=queue)

    def _wished(self, control: ControlRecord, members: Sequence[MemberRecord], limits: Mapping[str, int | None]) -> dict[str, int]:
        """Return Lambda's share of each queue that is scaled and that it serves: its limit is known, or a function has received from it."""
        if not control.wished:
            return {}
        found = servers(members, self._ports.clock.now())
        served = {queue: number for queue, number in control.wished.items() if limits.get(queue) is not None or queue in found.lambdas}
        return {queue: lambda_share(queue, number, found) for queue, number in served.items() if queue in self._queues}

    def _levels(self, queues: Collection[str]) -> dict[str, Level]:
        """Return the level of each of *queues*; one that has none yet is what its consumer is set to."""
        names = {memo_name(BUDGET, queue): queue for queue in queues}
        found = self._ports.memos.read([*names]) if names else {}
        levels = {}
        for name, queue in names.items():
            memo = self._memos[queue] = found.get(name, Memo(name))
            least = self._budgets[queue].budget.least if queue in self._budgets else LEAST_OF_LAMBDA
            levels[queue] = budget.from_text(memo.text) if memo.text else Level(self._ports.consumers.limit(command_queue(queue)) or least)
        return levels

    def act(self, decisions: Decisions) -> ControllerRound:
        """Do what was decided; what another controller did meanwhile is left alone."""
        for stuck in decisions.stuck:
            self._ports.telemetry.count("ClaimsStuck")
            self._ports.telemetry.log("error", "a claim ran out and no message takes it over", **stuck._asdict())
        return ControllerRound(
            lost=sum(self._done(partial(self._lose, lost)) for lost in decisions.lost),
            stuck=len(decisions.stuck),
            scaled=sum(self._done(partial(self._scale, scale)) for scale in (*decisions.scale, *decisions.apply)),
            asked=sum(self._done(partial(self._ask, name)) for name in decisions.ask),
        )

    def _done(self, deed: Callable[[], bool]) -> bool:
        """Carry out one action; a failure is logged, does not stop the others, and is decided anew by the next round."""
        try:
            return deed()
        except SedanoError as error:
            self._ports.telemetry.log("warning", "the controller could not do something; the next round decides anew", error=str(error))
            return False

    def _lose(self, lost: Lost) -> bool:
        if not self._ports.members.lose(lost.name, max(self._lamport.forward(), lost.clock + 1), lost.lapsed):
            return False
        self._ports.telemetry.count("WorkersLost")
        self._ports.telemetry.log("warning", "worker lost", worker=lost.name, lapsed=lost.lapsed)
        return True

    def _scale(self, scale: Scale) -> bool:
        """Write the level; the controller that wins applies the limit, if it changed, and logs that."""
        if not self._written(scale.queue, scale.level):
            return False
        if scale.level.applied:
            return False
        self._ports.consumers.set_limit(command_queue(scale.queue), scale.level.limit)
        self._written(scale.queue, scale.level._replace(applied=True))
        self._ports.telemetry.count("LimitsChanged", queue=scale.queue)
        self._ports.telemetry.log("info", "invocations at once", queue=scale.queue, limit=scale.level.limit, before=scale.seen.limit)
        return True

    def _written(self, queue: str, level: Level) -> bool:
        seen = self._memos[queue]
        answer = self._ports.memos.change(Memo(seen.name, budget.to_text(level), self._ports.entropy.nonce()), seen)
        if answer.done:
            self._memos[queue] = answer.memo
        return answer.done

    def _ask(self, name: str) -> bool:
        """Note that the check was requested; the controller that wins publishes its event."""
        check, now = self._checks[name], self._ports.clock.now()
        won = False

        def ask(before: Health) -> Health:
            nonlocal won
            won = health.to_ask(check.spec, before, now)
            return before._replace(asked=now) if won else before

        share(self._ports, ask, name)
        if won:
            self._announce(check.spec.expired)
        return won

