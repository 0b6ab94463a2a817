"""A world of workflows: runs that succeed, fail, are cancelled and retried, in the weather of tasks.

Everything between the user's call and the simulated services is the shipped code: declaration, directing, the canvas of each step, the
worker, the adapters of the ledger, the runs and the queues. Each environment has an app of its own, as each Lambda environment has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from random import Random
from typing import Any

from sedano import Retry, Sedano, bootstrap
from sedano.aws import keys
from sedano.aws.flow_runs import DynamoFlowRuns
from sedano.engine.chronicle import Host
from sedano.engine.worker import Worker
from sedano.errors import SedanoError
from sedano.model import states
from sedano.model.workflow.flow_run import ENDED
from sedano.ports import Ports
from sedano.task import Task
from sedano.workflow import Flow, FlowResult, Input, Step, Workflow, each, own
from tests.simulation import chores
from tests.simulation.claim_referee import LEDGER, text
from tests.simulation.claims import COMMANDS, SETTINGS, ClaimWorld, Plan, Planted, plan_of
from tests.simulation.dynamodb import Change
from tests.simulation.lambdas import Environment
from tests.simulation.network import Client, Fault, Weather
from tests.simulation.process import Process

NOTHING = Planted()
DEADLY = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)
KINDS = ("succeeds", "fails", "fails in a map", "is cancelled", "is retried")
PATIENCE_S = 1_800.0
LOOKS = 6


def tasks(app: Sedano, kind: str) -> dict[str, Task[..., Any]]:
    """Declare the tasks of a run of this *kind*."""

    def work(n: int) -> int:
        chores._work()
        return n

    def listed(n: int) -> list[int]:
        return list(range(n))

    def item(n: int) -> int:
        chores._work()
        if kind == "fails in a map" and n == 1:
            raise ValueError("as asked")
        return n

    def undo(n: Any) -> None:
        chores._work()

    def last(n: Any) -> str:
        if kind in ("fails", "is retried"):
            raise ValueError("as asked")
        return "done"

    once = {"item", "last"}
    bodies: dict[str, Callable[..., Any]] = {"work": work, "list": listed, "item": item, "undo": undo, "last": last}
    return {name: app.task(name=name, retry=False if name in once else None)(body) for name, body in bodies.items()}


def made(kind: str) -> tuple[Sedano, Flow]:
    """Return an app, and its one workflow; *kind* says what happens to its run."""
    app = Sedano("flows", retry=Retry(max_retries=2, interval_start=2.0, jitter=False))
    known = tasks(app, kind)
    undo = known["undo"].s(own)

    class Walk(Workflow, app=app):
        n = Input(int)
        first = Step(known["work"].s(n), compensate=undo)
        second = Step(known["work"].s(n), compensate=undo)
        third = Step(known["list"].s(first), after=second, compensate=undo)
        items = Step(known["item"].s(each(third)), compensate=undo)
        skipped = Step(known["work"].s(second), when=first > 100)
        final = Step(known["last"].s(items), after=skipped)

    return app, Walk.flow


def mild(weather: Weather) -> Weather:
    """Return *weather* in which nobody dies."""
    kinds = tuple(kind for kind in weather.kinds if kind not in DEADLY)
    return Weather(weather.chance if kinds else 0.0, kinds or weather.kinds)


class FlowWorld(ClaimWorld):
    """One schedule: one run, an operator who may cancel or retry it, and who resumes one whose command was set aside."""

    def __init__(self, seed: int, planted: Planted = NOTHING, allowed: AbstractSet[int] | None = None) -> None:
        """Set the stage of *seed*."""
        self.kind = Random(f"flows of {seed}").choice(KINDS)
        super().__init__(seed, _plan(seed), planted, allowed)
        self.database.watchers.clear()
        self.queues.sent_watchers.clear()
        self.queues.deleted_watchers.clear()
        self.database.watchers.append(self._changed)
        self.function.delivered = lambda _process, _messages: None
        self.ends: Counter[str] = Counter()
        self.order: list[str] = []
        self.run_id = "walk"

    def ports(self, process: Process) -> Ports:
        """Return the ports of *process*, with the simulated runs."""
        plan = self.plan
        if process.name == "publisher":  # it operates as well: somebody has to be there in the end
            self.plan = replace(plan, weather=mild(plan.weather))
        client = Client(process, self.database.call, self.plan.weather, self.planted.rewrite)
        ports = replace(super().ports(process), flow_runs=DynamoFlowRuns(client, "control"))
        self.plan = plan
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
        known = {"succeeds": "SUCCEEDED", "fails": "FAILED", "fails in a map": "FAILED", "is retried": "FAILED"}
        poisoned = "Poison" in text(run, "body")  # its worker died under it again and again
        self._require(poisoned or known.get(self.kind, state) == state, "E2", f"a run that {self.kind} is {state}")
        opened = [key for key, item in self._tasks() if text(item, "st") not in states.TERMINAL]
        self._require(not opened, "E2", f"tasks that did not end: {opened}")
        rounds = 2 if self.kind == "is retried" else 1
        self._require(names["work"] <= 2 * rounds and names["item"] <= 2 * rounds, "E1", f"too many effects: {dict(names)}")
        if state == "FAILED" or state == "CANCELLED":
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

    def _require(self, holds: bool, promise: str, what: str) -> None:
        if not holds:
            self.world.fail(promise, what)

    def _publish(self) -> None:
        """Begin the run, and control it as its kind says, patiently."""
        app, flow = made(self.kind)
        publisher = next(p for p in self.world.processes if p.name == "publisher")
        app.attach(self.ports(publisher))
        result: FlowResult = self._patiently(lambda: flow.apply_async({"n": 2}, run_id=self.run_id))
        if self.kind == "is cancelled":
            self.world.sleep(12 * self.world.dice.random() ** 2)
            self._patiently(result.cancel, ended=True)
        self._end(result)
        if self.kind == "is retried" and self._patiently(lambda: result.state) in ENDED:
            self._patiently(result.retry, ended=True)
            self._end(result)

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
        app, _ = made(self.kind)
        app.attach(ports)
        worker = Worker(app.registry, ports, Host(process.name, 1), SETTINGS, None)
        self.planted.worker(worker)
        return Environment(process, bootstrap._handler(worker.work, ports, {"default": COMMANDS}, ""))


def _plan(seed: int) -> Plan:
    """Draw the weather of *seed*; no worse than one call in five, since a run makes some hundred."""
    plan = plan_of(seed)
    return replace(plan, kinds=(), weather=replace(plan.weather, chance=min(plan.weather.chance, 0.2)))


def stage(seed: int, allowed: AbstractSet[int] | None) -> FlowWorld:
    """The shipped library."""
    return FlowWorld(seed, allowed=allowed)

