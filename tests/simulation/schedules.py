"""A world of periodic tasks: three schedulers that are invoked by the minute, now and then twice or not at all, in the weather of tasks.

Everything is the shipped code: `engine.schedules.scheduler` over `aws.schedules`, the publisher, the worker that runs what comes, the clock
that the table's answers bound: now and then a scheduler's own clock is hours or days wrong, or is set while it works. O1: whatever is
written down was decided by the rule, once: the cursor never goes back, and no moment before it is left out. O2: nothing is crossed off that
no queue has accepted, and what a dead scheduler has claimed is published by another. O3: each moment becomes one task, which does not come
before its time. O4: what an operator changes is not lost to a scheduler that writes at the same time. O5: a moment is sent by those alone
whose write has claimed it. Now and then the stage is upgraded meanwhile: schedulers of the version before, which kept an agenda in one
text, work beside the others until then. What becomes of the tasks is judged by `ClaimReferee`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from sedano.aws.client import keys
from sedano.aws.client.store_time import bounded
from sedano.aws.schedules import DynamoSchedules
from sedano.engine.schedules.scheduler import Scheduler
from sedano.errors import MessageRefused, SedanoError
from sedano.model.messages.lamport import LamportClock
from sedano.model.schedules.agenda import Periodic, ScheduledCall, agenda_of, begun, declaration, read_agenda, read_definitions
from sedano.model.schedules.schedule import Schedule, State, occurrence
from sedano.model.schedules.schedule_states import read_states
from sedano.model.schedules.timetable import At, Every, Timetable, between
from sedano.ports import Ports
from tests.simulation.claim_referee import command_of, text
from tests.simulation.claims import COMMANDS, SETTINGS, URLS, ClaimWorld, Plan, Planted, plan_of
from tests.simulation.dynamodb import Change
from tests.simulation.network import Client
from tests.simulation.older_schedules import OlderSchedules
from tests.simulation.process import Process
from tests.simulation.sqs import Message
from tests.simulation.world import START

CONTROL = "control"
NAME = "comes round"
FIRST = int(START)
LENGTH_S = 240
SCHEDULERS, FIRST_NUMBER = 3, 500
CALL = ScheduledCall("plain", "default", '{"args":[1],"kwargs":{}}')
EDITED = CALL._replace(stamps="edited=yes")
SKEW_S = 1.0
"""By how much a scheduler's clock may be wrong without being found out."""
WRONG_S = (-400 * 86_400.0, -7_200.0, -600.0, 600.0, 7_200.0, 400 * 86_400.0)
"""By how much one may be wrong that the table's answers contradict."""
TABLES: tuple[Timetable, ...] = (Every(60), Every(90, FIRST), At((FIRST + 5, FIRST + 6, FIRST + 70, FIRST + 200)), Every(45))
NUMBER = agenda_of(NAME)
KEY, DEFINITIONS = keys.agenda(NUMBER), keys.definitions(NUMBER)
NEIGHBOUR = next(name for name in map(str, range(1_000)) if agenda_of(name) == NUMBER)
"""A schedule of the same agenda, before the other one by its name, which comes round long after the end."""


@dataclass(frozen=True, slots=True)
class PlantedScheduler(Planted):
    """A fault planted into schedulers: *scheduler* takes the place of the library's own, *ports* changes what they are handed.

    *converts*: whether an operator, too, replaces an agenda in one text by two items.
    """

    scheduler: type[Scheduler] = Scheduler
    store: type[DynamoSchedules] = DynamoSchedules
    converts: bool = False


NOTHING = PlantedScheduler()


class Agendas:
    """The referee of one schedule: watches each write of its agenda and each message that is accepted."""

    def __init__(self, world: Any, schedule: Schedule) -> None:
        """Know of nothing yet."""
        self.world, self.schedule = world, schedule
        self.sent: set[str] = set()
        self.decided: set[int] = set()
        self.due: dict[str, float] = {}
        self.claimed: set[tuple[Process, str]] = set()
        self.definitions: dict[str, str] = {}

    def changed(self, change: Change) -> None:
        """Judge a write (O1, O2), and remember whose claim it is (O5)."""
        if change.table == CONTROL and change.key == DEFINITIONS:
            self.definitions[text(change.new, "dg")] = text(change.new, "body")
        if change.table != CONTROL or change.key != KEY:
            return
        self._upgraded(change)
        found, before = self.periodic(change.new), self.periodic(change.old)
        if found is None:
            self._require(before is None, "O1", "the schedule is gone")
            return
        now, was = found.state, before.state if before is not None else State(FIRST)
        self._require(now.cursor >= was.cursor, "O1", f"the cursor went back by {was.cursor - now.cursor} s")
        self._require(now.missed == 0, "O1", f"{now.missed} moments were left out")
        more, known = set(now.pending) - set(was.pending), set(was.pending)
        wanted = set(between(self.schedule.timetable, was.cursor, now.cursor))
        if before is None:  # it begins when its writer looked at his clock
            wanted = more | set(between(self.schedule.timetable, self.world.now + SKEW_S, now.cursor))
        self._require(more == wanted, "O1", f"{sorted(more)} are written down where {sorted(wanted)} come round")
        crossed = [moment for moment in known - set(now.pending) if occurrence(self.schedule, moment).task_id not in self.sent]
        self._require(not crossed, "O2", f"{crossed} are crossed off and were not sent")
        self.decided |= more
        if change.new is not None and int(change.new["held"]["N"]):
            self.claimed |= {(change.author[0], occurrence(self.schedule, moment).task_id) for moment in now.pending}
            self.world.branches["claim taken over" if known and not more else "claim"] += 1
        self.due |= {one.task_id: one.runs_at for one in (occurrence(self.schedule, moment) for moment in more)}
        self.world.branches["decided" if more else "crossed off" if known else "agenda changed"] += 1

    def _upgraded(self, change: Change) -> None:
        """Judge the two forms of an agenda, and its other schedule (O1)."""
        old, new = ("dg" in item if item is not None else None for item in (change.old, change.new))
        self._require(new or not old, "O1", "an older scheduler has replaced what it cannot read")
        own = not new or old or change.author[0].name == "scheduler"
        self._require(bool(own), "O1", "another one than a scheduler has replaced what an older scheduler reads")
        self.world.branches["agenda kept for an older version"] += not new
        self.world.branches["agenda of an older version replaced" if new and old is False else "agenda written"] += 1
        neighbour = self.periodic(change.new, NEIGHBOUR)
        if neighbour is not None:
            self._require(not neighbour.state.pending and not neighbour.state.missed, "O1", f"another one's state: {neighbour.state}")
            self.world.branches["written beside another schedule"] += 1

    def periodic(self, item: Any, name: str = NAME) -> Periodic | None:
        """Return the periodic task *name* that an agenda's *item* has, in either form."""
        if item is None:
            return None
        try:
            if "dg" not in item:
                return read_agenda(NUMBER, text(item, "body"), text(item, "nc")).periodics.get(name)
            defined = read_definitions(NUMBER, self.definitions.get(text(item, "dg"), "{}"))
            return read_states(KEY, text(item, "body"), defined).get(name)
        except MessageRefused as refused:
            self.world.fail("O1", f"states without their definitions: {refused}")
            return None

    def accepted(self, url: str, message: Message) -> None:
        """Judge a message that is an occurrence (O3, O5)."""
        command = command_of(message.body) if url == URLS[COMMANDS] else None
        if command is None or command.attempt > 0:
            return
        self._require(command.task_id in self.due, "O3", f"{command.task_id} is no occurrence of what was written down")
        author = message.author[0]  # a worker sends on what it cannot run now
        claims = author.name not in ("scheduler", "publisher") or (author, command.task_id) in self.claimed
        self._require(claims, "O5", f"{command.task_id} is sent by one who has no claim")
        early = self.due.get(command.task_id, 0.0) - message.visible
        self._require(early <= SKEW_S, "O3", f"a task can come {early:.1f} s before its moment")
        self.world.branches["occurrence sent again" if command.task_id in self.sent else "occurrence sent"] += 1
        self.sent.add(command.task_id)

    def _require(self, holds: bool, promise: str, what: str) -> None:
        if not holds:
            self.world.fail(promise, what)


class ScheduleWorld(ClaimWorld):
    """One schedule of the simulator: one periodic task, schedulers that come and go, and an operator who edits what it calls."""

    def __init__(self, seed: int, planted: PlantedScheduler = NOTHING, allowed: AbstractSet[int] | None = None) -> None:
        """Set the stage of *seed*."""
        self.fault = planted
        super().__init__(seed, _plan(seed), Planted(rewrite=planted.rewrite), allowed)
        dice = Random(f"schedules of {seed}")
        schedule = Schedule(NAME, dice.choice(TABLES), dice.choice((0, 0, 7)), coalesce=False)
        self.declared = {NAME: declaration(schedule, CALL)}
        self.agendas = Agendas(self.world, schedule)
        self.database.clock = lambda: self.world.now
        self.edited = False
        self.wrong = dice.choice((0.0, 0.0, 0.3, 1.0))
        self.database.watchers.append(self.agendas.changed)
        self.queues.sent_watchers.append(self.agendas.accepted)
        self.schedulers: list[Process] = []
        self.made: dict[Process, Ports] = {}
        self.older: set[Process] = set()
        self.upgraded = START + LENGTH_S * dice.random() if dice.random() < 0.3 else START

    def ports(self, process: Process) -> Ports:
        """Return the ports of *process*, with simulated agendas; a scheduler's clock is bound as `sedano.aws.deployment` does it."""
        if process not in self.made:
            self.made[process] = self.fault.ports(self._made(process))
        return self.made[process]

    def _made(self, process: Process) -> Ports:
        client: Any = Client(process, self.database.call, self.plan.weather, self.planted.rewrite)
        ports, sleep = super().ports(process), self.world.sleep
        if process.name != "scheduler":
            return replace(ports, schedules=self.fault.store(client, CONTROL, converts=self.fault.converts, sleep=sleep))
        clock: Any
        client, clock = bounded(client, ports.clock, ports.telemetry)
        older = self.world.now < self.upgraded and self.world.dice.random() < 0.6
        if older:
            self.older.add(process)
        store = OlderSchedules(client, CONTROL) if older else self.fault.store(client, CONTROL, sleep=sleep)
        return replace(ports, clock=clock, schedules=store)

    def at_rest(self) -> None:
        """Judge the world when nothing is left to happen."""
        found = self.agendas.periodic(self.database.table(CONTROL).get(KEY))
        if found is None or [*between(found.schedule.timetable, found.state.cursor, FIRST + LENGTH_S)]:
            self.world.fail("O1", "moments were not decided")
            return
        ids = {occurrence(found.schedule, moment).task_id for moment in self.agendas.decided}
        if found.state.pending or not ids <= self.agendas.sent:
            self.world.fail("O2", f"moments that were written down were not published: {found.state.pending}")
        if self.edited and found.call != EDITED:
            self.world.fail("O4", "the operator's edit is lost")
        self.referee.at_rest(Counter(plain=len(ids)), SETTINGS.poison_after)

    def _publish(self) -> None:
        """Let schedulers be invoked by the minute, and an operator edit the call once, patiently."""
        world = self.world
        for minute in range(0, int(max(LENGTH_S, self.plan.calm_after)) + 180, 60):
            calm = world.now + minute > world.calm_from + 60
            for number in range(SCHEDULERS):
                if number == 0 if calm else world.dice.random() < 0.6:
                    world.at(START + minute + 8 * world.dice.random() ** 3, self._invoke)
        if world.dice.random() < 0.4:
            world.sleep(LENGTH_S * world.dice.random())
            self._edit()

    def _edit(self) -> None:
        publisher = next(process for process in self.world.processes if process.name == "publisher")
        scheduler = self._scheduler(publisher)

        def alter(found: Periodic | None) -> Periodic | None:
            return found._replace(call=EDITED) if found is not None else None

        if self.world.dice.random() < 0.5:
            added = begun(Periodic(Schedule(NEIGHBOUR, Every(86_400, FIRST + 86_400)), CALL, State(0)), self.world.now)
            self._patiently(lambda: scheduler.change(NEIGHBOUR, lambda found: found or added))
        edited = self._patiently(lambda: scheduler.change(NAME, alter))
        self.edited = edited is not None
        if self.world.dice.random() < 0.3:
            self._patiently(lambda: scheduler.change(NEIGHBOUR, lambda _: None))

    def _patiently(self, change: Callable[[], Periodic | None]) -> Periodic | None:
        for _ in range(20):
            try:
                return change()
            except SedanoError as error:
                self.world.branches[f"operator: {type(error).__name__}"] += 1
                self.world.sleep(20.0)
        return None

    def _invoke(self) -> None:
        """Invoke an idle scheduler; where none is, start one cold."""
        over = self.world.now >= self.upgraded
        self.schedulers = [process for process in self.schedulers if process.alive and not (over and process in self.older)]
        idle = [process for process in self.schedulers if process.actor is None or process.actor.over]
        process = idle[int(len(idle) * self.world.dice.random())] if idle else self._started()
        process.invocation += 1
        process.actor = self.world.spawn(process, lambda: self._round(process))

    def _started(self) -> Process:
        process = Process(self.world, FIRST_NUMBER + len(self.world.processes), "scheduler")
        process.clock.offset = SKEW_S / 2 * (2 * self.world.dice.random() - 1)
        self.schedulers.append(process)
        if self.world.dice.random() < self.wrong:
            self._set(process, self.world.dice.choice(WRONG_S))
        return process

    def _set(self, process: Process, seconds: float) -> None:
        """Let the clock be wrong by *seconds*, at once or from some moment on."""

        def set_now() -> None:
            process.clock.offset = seconds

        if self.world.dice.random() < 0.5:
            set_now()
        else:
            self.world.at(self.world.now + 120 * self.world.dice.random(), set_now)

    def _round(self, process: Process) -> None:
        try:
            found = self._scheduler(process).round(self.declared)
        except SedanoError as error:
            self.world.branches[f"round: {type(error).__name__}"] += 1
            return
        self.world.branches["round failed"] += found.failed

    def _scheduler(self, process: Process) -> Scheduler:
        ports = self.ports(process)
        return self.fault.scheduler(ports, LamportClock(lambda: int(ports.clock.now() * 1_000_000)), process.name)


def _plan(seed: int) -> Plan:
    """Draw the weather of *seed*."""
    plan = plan_of(seed)
    weather = replace(plan.weather, chance=min(plan.weather.chance, 0.4))
    return replace(plan, kinds=(), weather=weather)


def stage(seed: int, allowed: AbstractSet[int] | None) -> ScheduleWorld:
    """The shipped library."""
    return ScheduleWorld(seed, allowed=allowed)
