"""A world of workflows: runs that succeed, fail, are cancelled, paused and retried, in the weather of tasks.

Everything between the user's call and the simulated services is the shipped code: declaration, directing, the canvas of each step, the
worker, the adapters of the ledger, the runs and the queues. Each environment has an app of its own, as each Lambda environment has.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from sedano import Retry, Sedano
from sedano.aws.client import keys
from sedano.aws.flow_runs import DynamoFlowRuns
from sedano.engine.worker.pipeline import Worker
from sedano.errors import SedanoError
from sedano.host import functions
from sedano.model import states
from sedano.model.history.run_rows import Host
from sedano.model.workflow.flow_run import ENDED
from sedano.ports import Ports
from sedano.task import Task
from sedano.workflow import Flow, FlowResult, Input, Step, Workflow, each, own
from sedano.workflow.names import PATROL, WORKFLOW
from sedano.workflow.orchestration import Directing
from tests.simulation import chores
from tests.simulation.claim_referee import LEDGER, text
from tests.simulation.claims import COMMANDS, SETTINGS, ClaimWorld, Plan, Planted, plan_of
from tests.simulation.dynamodb import Change, as_seen
from tests.simulation.lambdas import Environment
from tests.simulation.network import Client, Fault, Weather
from tests.simulation.process import Process
from tests.simulation.sqs import Message

NOTHING = Planted()
DEADLY = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)
KINDS = ("succeeds", "fails", "fails in a map", "is cancelled", "is retried", "is paused", "is left undone", "waits")
STEPS = ("work", "list", "last")
"""The tasks of steps that are no map: whoever directs the run publishes them, and nobody else does."""
PATIENCE_S = 1_800.0
LOOKS = 6


@dataclass(frozen=True, slots=True)
class PlantedFlow(Planted):
    """A fault planted into workflows: *directing* directs in place of the library's own, *retry* is what the operator's retry does."""

    directing: Callable[[Sedano], Directing] | None = None
    retry: Callable[[FlowResult], object] = FlowResult.retry


def tasks(app: Sedano, kind: str, broken: AbstractSet[str]) -> dict[str, Task[..., Any]]:
    """Declare the tasks of a run of this *kind*; *broken* is the world outside, until somebody mends it."""

    def work(n: int) -> int:
        chores._work()
        return n

    def listed(n: int) -> list[int]:
        return list(range(n))

    def item(n: int) -> int:
        chores._work()
        _ask(kind, "item", broken, n)
        return n

    def undo(n: Any) -> None:
        chores._work()
        _ask(kind, "undo", broken, n)

    def last(n: Any) -> str:
        _ask(kind, "last", broken, n)
        return "done"

    once = {"item", "last", *(("undo",) if kind == "is left undone" else ())}
    bodies: dict[str, Callable[..., Any]] = {"work": work, "list": listed, "item": item, "undo": undo, "last": last}
    return {name: app.task(name=name, retry=False if name in once else None)(body) for name, body in bodies.items()}


def _ask(kind: str, task: str, broken: AbstractSet[str], n: Any) -> None:
    """Fail where *task* fails in a run of this *kind*: always, or as long as the world is *broken*."""
    always = {"item": kind == "fails in a map" and n == 1, "last": kind in ("fails", "is retried", "is left undone")}
    now = {"undo": kind == "is left undone" and n == 1, "last": kind == "waits"}
    if always.get(task) or (broken and now.get(task)):
        raise ValueError("as asked")


def made(kind: str, broken: AbstractSet[str] = frozenset(), version: str = "1") -> tuple[Sedano, Flow]:
    """Return an app, and its one workflow; *kind* says what happens to its run. A later *version* has a step more."""
    app = Sedano("flows", retry=Retry(max_retries=2, interval_start=2.0, jitter=False))
    known = tasks(app, kind, broken)
    undo = known["undo"].s(own)

    class Walk(Workflow, app=app, version=version, on_failure="wait" if kind == "waits" else "compensate"):
        n = Input(int)
        first = Step(known["work"].s(n), compensate=undo)
        second = Step(known["work"].s(n), compensate=undo)
        third = Step(known["list"].s(first), after=second, compensate=undo)
        items = Step(known["item"].s(each(third)), compensate=undo)
        skipped = Step(known["work"].s(second), when=first > 100)
        final = Step(known["last"].s(items), after=skipped)
        if version != "1":
            more = Step(known["work"].s(n))

    return app, Walk.flow


def mild(weather: Weather) -> Weather:
    """Return *weather* in which no process dies."""
    kinds = tuple(kind for kind in weather.kinds if kind not in DEADLY)
    return Weather(weather.chance if kinds else 0.0, kinds or weather.kinds)


class FlowWorld(ClaimWorld):
    """One schedule: one run, an operator who may cancel or retry it, and who resumes one whose command was set aside."""

    def __init__(self, seed: int, planted: Planted = NOTHING, allowed: AbstractSet[int] | None = None) -> None:
        """Set the stage of *seed*."""
        self.kind = Random(f"flows of {seed}").choice(KINDS)
        self.broken = {"the world"}
        super().__init__(seed, _plan(seed), planted, allowed)
        self.database.watchers.clear()
        self.queues.sent_watchers.clear()
        self.queues.deleted_watchers.clear()
        self.database.watchers.append(self._changed)
        self.queues.sent_watchers.append(self._sent)
        self.function.delivered = lambda process, _messages: self.began.update({process.mark: self.world.now})
        self.began: dict[str, float] = {}
        self.begun_steps: set[str] = set()
        self.paused_at, self.cancelled = float("inf"), False
        self.ends: Counter[str] = Counter()
        self.order: list[str] = []
        self.run_id = "walk"

    def ports(self, process: Process) -> Ports:
        """Return the ports of *process*, with the simulated runs."""
        plan = self.plan
        if process.name == "publisher":  # it operates as well: somebody has to be there in the end
            self.plan = replace(plan, weather=mild(plan.weather))
        swap = as_seen(self.database, lambda what: self.world.fail("I7", what))
        client = Client(process, swap, self.plan.weather, self.planted.rewrite)
        ports, self.plan = replace(super().ports(process), flow_runs=DynamoFlowRuns(client, "control")), plan
        return ports

    def at_rest(self) -> None:
        """Judge the world when nothing is left to happen: the run has ended, and what its kind promises holds in the ledger."""
        names = Counter(text(item, "nm") for key, item in self._tasks() if text(item, "st") == states.SUCCESS)
        run = self.database.table("control").get(keys.flow_run(self.run_id))
        state = text(run, "st")
        self.world.branches[f"run {state or 'kept back'}"] += 1
        if not state:  # the queue was away: the command lies in its publisher's backlog, and no part of the run has begun
            self._require(not self._tasks(), "WHOLE", "a run that was not written down has tasks")
            return
        self._require(state in ENDED, "E2", f"the run is {state}")
        known = {
            "succeeds": "SUCCEEDED", "fails": "FAILED", "fails in a map": "FAILED", "is retried": "FAILED", "is paused": "SUCCEEDED",
            "is left undone": "FAILED", "waits": "SUCCEEDED",
        }  # fmt: skip
        poisoned = "Poison" in text(run, "body")  # its worker died under it again and again
        self._require(poisoned or known.get(self.kind, state) == state, "E2", f"a run that {self.kind} is {state}")
        self._require(state == "CANCELLED" or not self.cancelled, "E2", f"a run that was cancelled is {state}")
        opened = [key for key, item in self._tasks() if text(item, "st") not in states.TERMINAL]
        self._require(not opened, "E2", f"tasks that did not end: {opened}")
        rounds = 2 if self.kind == "is retried" else 1
        self._require(names["work"] <= 2 * rounds and names["item"] <= 2 * rounds, "E1", f"too many effects: {dict(names)}")
        if state in ("FAILED", "CANCELLED") and self.kind != "waits":
            self._undone(names)
        elif state == "SUCCEEDED":
            self._require(names["undo"] == 0 and names["last"] == 1, "E1", f"a run that succeeded: {dict(names)}")

    def _undone(self, names: Counter[str]) -> None:
        """Judge that every effect that has a compensation was undone, once, after all of them, the latest first.

        A compensation under which one worker after the other died has ended as poison: it was set aside and told, and undid nothing. So has
        the launch of those of a map, with all of its members.
        """
        effects = [place for place, name in enumerate(self.order) if name in ("work", "list", "item")]
        undone = [place for place, name in enumerate(self.order) if name == "undo"]
        poisoned = Counter(text(item, "nm") for _, item in self._tasks() if text(item, "st") == states.POISON)
        lost = poisoned["undo"] + poisoned["sedano.launch"] * names["item"]
        missing = len(effects) - len(undone)
        self._require(0 <= missing <= lost, "SAGA", f"{len(effects)} effects, {len(undone)} undone: {dict(names)}")
        if self.kind != "is retried" and undone:
            self._require(min(undone) > max(effects), "SAGA", "something was undone before the last effect")

    def _tasks(self) -> list[tuple[str, Any]]:
        return [(key, item) for key, item in self.database.table(LEDGER).items() if key.startswith(keys.TASK)]

    def _changed(self, change: Change) -> None:
        """Judge a write to a task's record: a terminal state stays (E3), and is reached once (E1)."""
        if change.table != LEDGER or not change.key.startswith(keys.TASK):
            return
        before, after = text(change.old, "st"), text(change.new, "st")
        self._require(before not in states.TERMINAL or before == after, "E3", f"{change.key}: {before} became {after}")
        if after in states.TERMINAL and before != after:
            self.ends[change.key] += 1
            self.order += [text(change.new, "nm")] if after == states.SUCCESS else []
            self._require(self.ends[change.key] == 1, "E1", f"{change.key}: ended twice")

    def _sent(self, _url: str, message: Message) -> None:
        """Judge a message of a step: whoever began to work after the run was paused begins no further one."""
        found = json.loads(message.body)
        task_id = found.get("taskid", "")
        if found.get("subject") not in STEPS or task_id in self.begun_steps:
            return
        self.begun_steps.add(task_id)
        began = self.began.get(message.author[1], 0.0)
        self._require(began <= self.paused_at, "PAUSE", f"a step began ({found['subject']}) while the run was paused")

    def _require(self, holds: object, promise: str, what: str) -> None:
        if not holds:
            self.world.fail(promise, what)

    def _publish(self) -> None:
        """Begin the run, and control it as its kind says, patiently."""
        app, flow = made(self.kind, self.broken)
        publisher = next(p for p in self.world.processes if p.name == "publisher")
        app.attach(self.ports(publisher))
        result: FlowResult = self._patiently(lambda: flow.apply_async({"n": 2}, run_id=self.run_id))
        if self.kind == "is cancelled":
            self.world.sleep(12 * self.world.dice.random() ** 2)
            self.cancelled = self._patiently(result.cancel, ended=True) == "CANCELLING"
        if self.kind == "is paused":
            self._pause(result)
        self._end(result)
        if self.kind in ("is retried", "is left undone", "waits") and self._patiently(lambda: result.state) in ENDED:
            failed = any(text(item, "nm") == "undo" and text(item, "st") == states.FAILURE for _, item in self._tasks())
            named = self._patiently(lambda: result.uncompensated)
            self._require(named or not failed, "SAGA", "a compensation failed and is not named")
            if self.kind == "is left undone" and not named:
                return
            self.broken.clear()
            retry = self.planted.retry if isinstance(self.planted, PlantedFlow) else FlowResult.retry
            self._patiently(lambda: retry(result), ended=True)
            self._end(result)

    def _pause(self, result: FlowResult) -> None:
        """Pause the run at some moment, leave it so for a while, and let it go on."""
        self.world.sleep(12 * self.world.dice.random() ** 2)
        if self._patiently(result.pause, ended=True) is None:
            return
        self.paused_at = self.world.now
        self.world.sleep(PATIENCE_S)
        self.paused_at = float("inf")
        self._patiently(result.resume, ended=True)

    def _end(self, result: FlowResult) -> None:
        """Wait until the run has ended; when it does not, because its command was set aside, have it looked at again."""
        for _ in range(LOOKS):
            self.world.sleep(PATIENCE_S)
            state = self._patiently(lambda: result.state)
            if state in ENDED:
                return
            self.world.branches["looked at again"] += 1
            self._patiently(result.resume, ended=True)

    def _patiently(self, call: Any, ended: bool = False) -> Any:
        """Call until the services answer; *ended*: a refusal is an answer."""
        while True:
            try:
                return call()
            except SedanoError as error:
                self.world.branches[f"operator: {type(error).__name__}"] += 1
                if ended and type(error).__name__ in ("WrongFlowState", "UnknownFlowRun"):
                    return None
                self.world.sleep(5.0)

    def _environment(self, place: int) -> Environment:
        """Start an environment cold, with an app of its own."""
        process = Process(self.world, place, f"worker{place}")
        process.clock.offset = self.plan.skew * (2 * self.world.dice.random() - 1)
        ports = self.planted.ports(self.ports(process))
        app, _ = made(self.kind, self.broken, str(1 + place % 2))
        if isinstance(self.planted, PlantedFlow) and self.planted.directing is not None:
            _directed(app, self.planted.directing(app))
        app.attach(ports)
        worker = Worker(app.registry, ports, Host(process.name, 1), SETTINGS, None)
        self.planted.worker(worker)
        return Environment(process, functions._handler(worker.work, ports, {"default": COMMANDS}, ""))


def _directed(app: Sedano, directing: Directing) -> None:
    """Have *directing* direct the runs of *app*."""
    for name, function in ((WORKFLOW, directing.direct), (PATROL, directing.patrol)):
        app.registry.tasks[name] = app.registry.tasks[name]._replace(function=function)


def _plan(seed: int) -> Plan:
    """Draw the weather of *seed*; no worse than one call in five, since a run makes some hundred."""
    plan = plan_of(seed)
    return replace(plan, kinds=(), weather=replace(plan.weather, chance=min(plan.weather.chance, 0.2)))


def stage(seed: int, allowed: AbstractSet[int] | None) -> FlowWorld:
    """The shipped library."""
    return FlowWorld(seed, allowed=allowed)
