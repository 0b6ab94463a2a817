"""Circuits of a worker: checked before a task is claimed, and updated after it ran.

An open circuit holds the task's message back until it closes, or ends the task as failed, as was declared. A health check that a circuit
watches runs when its last result has expired and one of the circuit's tasks is about to run, so an unused circuit costs nothing. A circuit
belongs to this worker (a value in memory), or to all workers (a memo: one read per invocation, one write per failure).

If a circuit cannot be written, only the count of one failure is lost, never a task: the error is logged, and the next failure counts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial

from sedano.engine.batch import Arguments, Batch, Held, Job, Judged, Later, Ran, Stillborn
from sedano.engine.gate import Gate
from sedano.engine.health import RegisteredCheck, known, look, share
from sedano.engine.pauses import put_off
from sedano.engine.registry import Registry
from sedano.errors import SedanoError, Unavailable
from sedano.model import circuits as rule
from sedano.model import health, refusals, states
from sedano.model.circuits import FAILURE, Breaker, Circuit
from sedano.model.health import Health
from sedano.model.memos import CIRCUIT, Memo, memo_name
from sedano.model.messages.timestamps import shown
from sedano.ports import Ports

TRIES = 4
"""How often a failure is written again because another write was first."""
EXPECTED = frozenset({"Ignore", "Reject"})
"""Exceptions that a body raises on purpose: not a failure of its dependencies."""


class Circuits(Gate):
    """The circuits and health checks of one worker."""

    def __init__(self, registry: Registry, ports: Ports) -> None:
        """Begin with every circuit closed and no known states; start the watchers of the checks."""
        self._ports, self._registry, self._checks = ports, registry, registry.checks
        self._mine: dict[str, Circuit] = {}
        self._ahead: dict[str, Circuit] = {}
        self._memos: dict[str, Memo] = {}
        self._lock = threading.Lock()
        self._health: dict[str, Health] = {}
        for check in self._checks.values():
            for watch in check.watchers:
                threading.Thread(target=self._watch, args=(check, watch), name=f"sedano-watch-{check.name}", daemon=True).start()

    def admit(self, jobs: Sequence[Job], batch: Batch) -> Sequence[Job]:
        """Return the jobs whose circuits are closed, and those that must end unrun; the others are decided in *batch*."""
        guarded = {job.task.circuit.name: job.task.circuit for job in jobs if job.task.circuit is not None and job.stillborn is None}
        if not guarded:
            return jobs
        self._read(guarded.values())
        self._hear(batch)
        self._look(guarded.values(), batch)
        now = self._ports.clock.now()
        admitted = [self._admit(job, now, batch) for job in jobs]
        return [job for job in admitted if job is not None]

    def begin(self, job: Job, now: float, anew: Collection[str] | None) -> Stillborn | Later | None:
        """Return why the body of the admitted *job* must not begin at *now*, if its circuit has opened since."""
        breaker = job.task.circuit
        if breaker is None:
            return None
        circuit = self._ahead.get(breaker.name) or self._circuit(breaker)
        if not circuit.is_open(now):
            return None
        self._ports.telemetry.count("CircuitsOpen", task=job.task.name)
        return self._held_up(breaker, circuit, now)

    def note(self, ran: Ran) -> None:
        """Apply the result of *ran* to bodies of this batch that have not begun yet; `learn` stores it."""
        breaker, run = ran.held.job.task.circuit, ran.run
        if breaker is None:
            return
        with self._lock:
            before = self._ahead.get(breaker.name) or self._circuit(breaker)
            if counts(ran) and run.error is None:
                self._ahead[breaker.name] = rule.succeeded(before)
            elif counts(ran):
                self._ahead[breaker.name] = rule.failed(breaker, before, FAILURE, self._ports.clock.now()).circuit

    def learn(self, ended: Sequence[Judged], ready: Sequence[tuple[Held, Arguments]], batch: Batch) -> None:
        """Update the circuits of tasks that ran, and take in the reports of health checks."""
        ran = {one.job.delivery.message_id for one, _ in ready}
        self._ahead.clear()
        self._hear(batch)
        for judged in ended:
            circuit, message = judged.ran.held.job.task.circuit, judged.ran.held.job.delivery.message_id
            if circuit is None or message not in ran or not counts(judged.ran):
                continue
            if judged.ran.run.error is None:
                self._succeeded(circuit)
            else:
                self._failed(circuit, FAILURE, batch)

    def _admit(self, job: Job, now: float, batch: Batch) -> Job | None:
        breaker = job.task.circuit
        if breaker is None or job.stillborn is not None:
            return job
        circuit = self._circuit(breaker)
        if not circuit.is_open(now):
            return job
        batch.count("CircuitsOpen", job.task.name)
        found = self._held_up(breaker, circuit, now)
        if isinstance(found, Stillborn):
            return job._replace(stillborn=found)
        put_off(self._ports, job, found.reason, found.seconds, batch)
        return None

    def _held_up(self, breaker: Breaker, circuit: Circuit, now: float) -> Stillborn | Later:
        """Return the decision about a task whose *circuit* is open."""
        why = f"circuit {circuit.name} is open since {shown(circuit.since)}: {circuit.cause}"
        if breaker.on_open == "fail":
            return Stillborn(states.FAILURE, refusals.CIRCUIT, "circuit", why, park=False)
        spread = min(breaker.open_for, 30.0) / 10  # those that waited do not all come in the same moment
        return Later(why, circuit.until - now + spread * self._ports.entropy.unit())

    def _look(self, breakers: Iterable[Breaker], batch: Batch) -> None:
        """Run the checks of closed circuits whose last result has expired."""
        now = self._ports.clock.now()
        names = {name for breaker in breakers if not self._circuit(breaker).is_open(now) for name in breaker.checks}
        checks = [self._checks[name] for name in sorted(names)]
        self._refresh([check for check in checks if check.spec.shared], batch)
        for check in checks:
            if health.is_due(check.spec, self._known(check.name), now):
                found = look(check, self._ports.telemetry.log)
                if found is not None:
                    self._report(check, *found, batch)

    def _refresh(self, checks: Sequence[RegisteredCheck], batch: Batch) -> None:
        """Take over the results of other workers for these shared *checks*, for the circuits in this worker's memory."""
        try:
            found = known(self._ports, checks)
        except SedanoError as error:
            self._ports.telemetry.log("warning", "health not read; the last known state holds", error=str(error))
            return
        for check in checks:
            is_news = found[check.name].at > self._known(check.name).at
            self._health[check.name] = found[check.name]
            if is_news:
                self._mark(check, found[check.name].state, batch, shared=False)

    def _hear(self, batch: Batch) -> None:
        """Take in the reports of tasks and watchers since the last look."""
        for check in self._checks.values():
            while check.inbox:
                self._report(check, *check.inbox.popleft(), batch)

    def _report(self, check: RegisteredCheck, state: str, why: str, batch: Batch) -> None:
        now = self._ports.clock.now()
        before, change = self._known(check.name), partial(_found, check, state, now, why)
        try:
            self._health[check.name] = after = share(self._ports, change, check.name) if check.spec.shared else change(before)
        except SedanoError as error:
            self._ports.telemetry.log("warning", "health not written", check=check.name, error=str(error))
            return
        if after.state != before.state:
            level = "info" if state == check.spec.states[0] else "warning"
            self._ports.telemetry.log(level, "health changed", check=check.name, state=state, before=before.state or "unknown", why=why)
        self._mark(check, state, batch)

    def _mark(self, check: RegisteredCheck, state: str, batch: Batch, *, shared: bool = True) -> None:
        breakers = {task.circuit.name: task.circuit for task in self._registry.tasks.values() if task.circuit is not None}
        for breaker in breakers.values():
            if shared or not breaker.shared:
                self._failed(breaker, f"{check.name}:{state}", batch)

    def _failed(self, breaker: Breaker, mark: str, batch: Batch) -> None:
        if not breaker.threshold(mark):
            return
        now = self._ports.clock.now()
        tripped: list[rule.Noted] = []

        def note(circuit: Circuit) -> Circuit:
            noted = rule.failed(breaker, circuit, mark, now)
            tripped[:] = [noted] if noted.tripped else []
            return noted.circuit

        if self._change(breaker, note):
            for noted in tripped:
                self._tripped(noted, now, batch)

    def _succeeded(self, breaker: Breaker) -> None:
        if not self._circuit(breaker).is_clean:
            self._change(breaker, rule.succeeded)

    def _tripped(self, noted: rule.Noted, now: float, batch: Batch) -> None:
        """Report the opened circuit in the log, a metric, and the history."""
        circuit = noted.circuit
        self._ports.telemetry.count("CircuitsTripped", circuit=circuit.name)
        self._ports.telemetry.log(
            noted.level,
            "circuit tripped",
            circuit=circuit.name,
            cause=circuit.cause,
            seconds=round(circuit.until - now, 3),
            row=circuit.row,
        )
        batch.chronicle.line("circuit-tripped", int(now * 1_000_000), now, circuit=circuit.name, cause=circuit.cause, until=circuit.until)

    def _known(self, check: str) -> Health:
        return self._health.get(check) or Health(check)

    def _circuit(self, breaker: Breaker) -> Circuit:
        return self._mine.get(breaker.name) or Circuit(breaker.name)

    def _read(self, breakers: Iterable[Breaker]) -> None:
        """Read the current states of the shared circuits."""
        names = {memo_name(CIRCUIT, breaker.name): breaker.name for breaker in breakers if breaker.shared}
        try:
            found = self._ports.memos.read([*names]) if names else {}
            for memo, name in names.items():
                self._take_over(found.get(memo, Memo(memo)), name)
        except SedanoError as error:
            self._ports.telemetry.log("warning", "circuits not read; the last known state holds", error=str(error))

    def _take_over(self, memo: Memo, name: str) -> None:
        self._memos[name] = memo
        self._mine[name] = rule.from_text(memo.text) if memo.text else Circuit(name)

    def _change(self, breaker: Breaker, change: Callable[[Circuit], Circuit]) -> bool:
        """Change a circuit; return whether the change was kept. A shared one changes by compare-and-swap."""
        if not breaker.shared:
            self._mine[breaker.name] = change(self._circuit(breaker))
            return True
        try:
            self._change_shared(breaker.name, change)
        except SedanoError as error:
            self._ports.telemetry.log("warning", "circuit not written; a failure is not counted", circuit=breaker.name, error=str(error))
            return False
        return True

    def _change_shared(self, name: str, change: Callable[[Circuit], Circuit]) -> None:
        if name not in self._memos:
            memo = memo_name(CIRCUIT, name)
            self._take_over(self._ports.memos.read([memo]).get(memo, Memo(memo)), name)
        for _ in range(TRIES):
            seen, before = self._memos[name], self._mine[name]
            after = change(before)
            if after == before:
                return
            answer = self._ports.memos.change(Memo(seen.name, rule.to_text(after), self._ports.entropy.nonce()), seen)
            self._take_over(answer.memo, name)
            if answer.done:
                return
        raise Unavailable(f"circuit {name}: others changed it under each of {TRIES} attempts")

    def _watch(self, check: RegisteredCheck, watch: Callable[[Callable[..., None]], None]) -> None:
        def report(state: str, why: str = "") -> None:
            health.reported(check.spec, Health(check.name), state, 0.0)
            check.inbox.append((state, why))

        try:
            watch(report)
        except Exception as error:  # noqa: BLE001 - a watcher may fail in any way; that says nothing about what it watches
            self._ports.telemetry.log(
                "error", "health watcher failed; it is ignored", check=check.name, error=f"{type(error).__name__}: {error}"
            )


def counts(ran: Ran) -> bool:
    """Return whether the end of *ran* shows anything about the dependencies of its task."""
    run = ran.run
    expected = run.error is not None and run.error.type_name in EXPECTED
    return ran.held.stillborn is None and not (run.revoked or run.replaced or expected)


def _found(check: RegisteredCheck, state: str, now: float, why: str, before: Health) -> Health:
    return health.reported(check.spec, before, state, now, why)
