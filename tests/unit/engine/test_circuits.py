"""Circuits alone: what a run teaches them, which checks are looked at, which writes are made, and how long a task waits."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.batch import Held, Job, Judged, Later, Ran, Stillborn
from sedano.engine.circuits import Circuits, counts
from sedano.engine.health import RegisteredCheck
from sedano.engine.registry import Registry
from sedano.errors import OptionError, Unavailable
from sedano.model import refusals, states
from sedano.model.circuits import Breaker
from sedano.model.health import HEALTHY, UNHEALTHY, health_check
from sedano.model.ledger.outcome import Run, Verdict
from sedano.model.ledger.records import ErrorRecord
from sedano.model.memos import Memo
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.task_spec import TaskSpec
from sedano.ports import Ports
from tests.unit.engine.gated import advance, asked, batch, job, names, told, waits, world

BREAKER = Breaker(failures=2, name="shop")
WATCHING = Breaker(failures=0, checks={"db": {UNHEALTHY: 1}}, name="shop")
BROKEN = Run(error=ErrorRecord("ValueError", "no"))


def check(*functions: Callable[[], str], shared: bool = False, every: float = 30.0) -> RegisteredCheck:
    """The health check `db`."""
    return RegisteredCheck(health_check("db", every=every, shared=shared), [*functions])


def circuits(ports: Ports, breaker: Breaker = BREAKER, *checks: RegisteredCheck) -> Circuits:
    """The circuits of a worker whose task `only` is guarded by *breaker*."""
    spec = TaskSpec("only", print, Parameters(lambda *_, **__: None), circuit=breaker)
    return Circuits(Registry(tasks={"only": spec}, checks={one.name: one for one in checks}), ports)


def guarded(name: str = "a", breaker: Breaker = BREAKER) -> Job:
    """A job of the guarded task."""
    return job(name, circuit=breaker)


def ran(one: Job, run: Run = BROKEN, why: Stillborn | None = None) -> Ran:
    """The run of *one*."""
    return Ran(held=Held(one, None, why), run=run, result=None, drafts=(), started=0.0, started_clock=0, ended=0.0)


def learn(found: Circuits, ports: Ports, *ends: Ran, ready: bool = True) -> Any:
    """Let the circuits learn of *ends*; return the batch."""
    now = batch(ports)
    ended = [Judged(one, Verdict(states.FAILURE), None, ()) for one in ends]
    found.learn(ended, [(one.held, ((), {})) for one in ends] if ready else [], now)
    return now


def opened(ports: Ports, breaker: Breaker, *checks: RegisteredCheck) -> Circuits:
    """Circuits of which *breaker*'s has just tripped."""
    found = circuits(ports, breaker, *checks)
    learn(found, ports, *(ran(guarded(breaker=breaker)) for _ in range(breaker.failures)))
    return found


def memos(ports: Ports) -> list[str]:
    """Which calls of the memos were made since the last time."""
    port: Any = ports.memos
    found = [name for name, _ in port.calls]
    port.calls.clear()
    return found


def is_open(found: Circuits, ports: Ports, breaker: Breaker = BREAKER) -> bool:
    """Whether a task of the circuit is held up."""
    return found.begin(guarded(breaker=breaker), ports.clock.now(), None) is not None


DEAD = Stillborn(states.FAILURE, refusals.EXPIRED, "expires", "")


def test_a_batch_without_circuits_is_passed_on_as_it_is() -> None:
    ports, jobs = world(), [job("a", "plain"), job("b", "plain")]
    assert circuits(ports).admit(jobs, batch(ports)) is jobs


def test_a_task_that_ends_unrun_reads_no_circuit() -> None:
    ports = world(0.5, "memos")
    shared = replace(BREAKER, shared=True)
    dead = guarded(breaker=shared)._replace(stillborn=DEAD)
    assert circuits(ports, shared).admit([dead], batch(ports)) == [dead]
    assert memos(ports) == []


def test_of_a_mixed_batch_only_what_a_circuit_guards_is_held_up() -> None:
    ports = world(0.5)
    found, now = opened(ports, BREAKER), batch(ports)
    dead = guarded("c")._replace(stillborn=DEAD)
    assert names(found.admit([job("a", "plain"), guarded("b"), dead], now)) == ["a", "c"]
    assert (list(waits(now) or asked(ports.queues, "hold")), now.counts) != ([], {})
    assert now.counts == {("CircuitsOpen", "only"): 1}


@pytest.mark.parametrize(("open_for", "spread"), [(600.0, 3.0), (20.0, 2.0)])
def test_what_waits_comes_back_spread_over_a_tenth_of_the_time(open_for: float, spread: float) -> None:
    breaker = replace(BREAKER, open_for=open_for)
    ports = world(0.5)
    later = opened(ports, breaker).begin(guarded(breaker=breaker), ports.clock.now(), None)
    assert isinstance(later, Later)
    assert later.seconds == open_for + spread * 0.5


def test_a_circuit_that_fails_its_tasks_says_why() -> None:
    breaker = replace(BREAKER, on_open="fail")
    ports = world()
    (found,) = opened(ports, breaker).admit([guarded(breaker=breaker)], batch(ports))
    why = "circuit shop is open since 2026-01-01 00:00:00Z: 2 × failure within 60 s"
    assert found.stillborn == Stillborn(states.FAILURE, refusals.CIRCUIT, "circuit", why, park=False)


def test_failures_of_this_batch_hold_up_those_that_have_not_begun() -> None:
    ports = world()
    found = circuits(ports)
    found.note(ran(guarded("a")))
    found.note(ran(guarded("b"), Run(revoked=True)))
    found.note(ran(guarded("c")))
    assert is_open(found, ports), "a revoked run between two failures is no success"
    learn(found, ports)
    assert not is_open(found, ports), "what the batch foresaw is forgotten when it is written down"


def test_a_success_between_two_failures_counts() -> None:
    ports = world()
    found = circuits(ports)
    for run in (BROKEN, Run(), BROKEN):
        found.note(ran(guarded("a"), run))
    assert not is_open(found, ports)


def test_a_task_without_a_circuit_teaches_nothing() -> None:
    ports = world()
    found = circuits(ports)
    learn(found, ports, ran(guarded("a")), ran(job("b", "plain")), ran(guarded("c")))
    assert is_open(found, ports)


def test_a_failure_before_the_body_says_nothing_of_its_dependencies() -> None:
    ports = world()
    found = circuits(ports)
    learn(found, ports, ran(guarded("a")), ran(guarded("b")), ready=False)
    assert not is_open(found, ports)


@pytest.mark.parametrize(
    ("run", "why", "is_counted"),
    [(BROKEN, None, True), (Run(), None, True), (BROKEN, DEAD, False), (BROKEN._replace(revoked=True), None, False),
     (BROKEN._replace(replaced=True), None, False), (Run(error=ErrorRecord("Ignore", "")), None, False),
     (Run(error=ErrorRecord("Reject", "")), None, False)],
)  # fmt: skip
def test_only_the_end_of_a_body_counts(run: Run, why: Stillborn | None, is_counted: bool) -> None:
    assert counts(ran(guarded(), run, why)) == is_counted


def test_a_trip_is_told_with_its_seconds() -> None:
    breaker = replace(BREAKER, open_for=1.23456)
    ports = world()
    now = batch(ports)
    found = circuits(ports, breaker)
    ends = [Judged(ran(guarded(name, breaker)), Verdict(states.FAILURE), None, ()) for name in "ab"]
    found.learn(ends, [(one.ran.held, ((), {})) for one in ends], now)
    telemetry: Any = ports.telemetry
    (line,) = [line for line in telemetry.lines if line.message == "circuit tripped"]
    assert line.fields["seconds"] == 1.235
    (told_line,) = now.chronicle.lines
    assert (told_line["type"], told_line["until"]) == ("circuit-tripped", ports.clock.now() + 1.23456)
    assert told(now) == []


def test_a_report_that_is_here_already_saves_a_look() -> None:
    ports, looks = world(), list[str]()
    one = check(lambda: looks.append("looked") or HEALTHY)  # type: ignore[func-returns-value]
    found = circuits(ports, WATCHING, one)
    one.inbox.append((HEALTHY, ""))
    assert names(found.admit([guarded(breaker=WATCHING)], batch(ports))) == ["a"]
    assert looks == []
    advance(ports, 31.0)
    found.admit([guarded(breaker=WATCHING)], batch(ports))
    assert looks == ["looked"]


def test_a_check_that_only_watches_is_not_looked_at() -> None:
    ports = world()
    found = circuits(ports, WATCHING, check())
    found.admit([guarded(breaker=WATCHING)], batch(ports))
    assert found._health == {}


def test_a_report_trips_the_circuits_that_watch_the_check_and_no_others() -> None:
    ports = world()
    one = check()
    found = circuits(ports, WATCHING, one)
    one.inbox.append((UNHEALTHY, "no answer"))
    learn(found, ports)
    assert is_open(found, ports, WATCHING)
    other = circuits(ports, BREAKER, one)
    one.inbox.append((UNHEALTHY, "no answer"))
    learn(other, ports)
    assert not is_open(other, ports)


def test_a_shared_circuit_is_read_once_before_a_report_changes_it() -> None:
    ports, breaker = world(0.5, "memos"), replace(WATCHING, shared=True)
    one = check()
    found = circuits(ports, breaker, one)
    one.inbox.append((UNHEALTHY, "no answer"))
    now = batch(ports)
    assert found.admit([guarded(breaker=breaker)], now) == []
    assert memos(ports) == ["read", "change"]


def test_a_state_that_trips_nothing_is_not_written() -> None:
    ports, breaker = world(0.5, "memos"), replace(WATCHING, shared=True)
    one = check()
    found = circuits(ports, breaker, one)
    one.inbox.append((HEALTHY, ""))
    learn(found, ports)
    assert memos(ports) == []


def test_a_shared_circuit_is_written_for_a_failure_and_for_the_success_that_ends_a_row() -> None:
    ports, breaker = world(0.5, "memos"), replace(BREAKER, shared=True)
    found = circuits(ports, breaker)
    learn(found, ports, ran(guarded(breaker=breaker)))
    assert memos(ports) == ["read", "change"]
    learn(found, ports, ran(guarded(breaker=breaker), Run()))
    assert memos(ports) == ["change"]
    learn(found, ports, ran(guarded(breaker=breaker), Run()))
    assert memos(ports) == []
    learn(found, ports, ran(guarded(breaker=breaker)), ran(guarded(breaker=breaker)))
    assert memos(ports) == ["change", "change"]
    learn(found, ports, ran(guarded(breaker=breaker)))
    assert memos(ports) == [], "it is open already"


class Away(memory.MemoryMemos):
    """Memos that do not answer."""

    def read(self, names: Any) -> dict[str, Memo]:
        """Be away."""
        raise Unavailable("memos: away")


def test_a_success_of_a_circuit_that_could_not_be_read_asks_for_nothing() -> None:
    ports, breaker = world(0.5, "memos"), replace(BREAKER, shared=True)
    ports.memos.port = Away()  # type: ignore[attr-defined]
    found = circuits(ports, breaker)
    found.admit([guarded(breaker=breaker)], batch(ports))
    memos(ports)
    learn(found, ports, ran(guarded(breaker=breaker), Run()))
    assert memos(ports) == []


def test_a_watcher_that_reports_an_unknown_state_is_told_so_and_reports_nothing() -> None:
    ports, one = world(), check()
    heard: list[Exception] = []

    def watch(report: Callable[..., None]) -> None:
        report(UNHEALTHY, "down")
        try:
            report("tired")
        except OptionError as error:
            heard.append(error)

    circuits(ports, WATCHING, one)._watch(one, watch)
    assert ([*one.inbox], len(heard)) == ([(UNHEALTHY, "down")], 1)


def test_no_circuit_is_open_for_ever() -> None:
    ports = world()
    found = opened(ports, BREAKER)
    advance(ports, 29.9)
    assert is_open(found, ports)
    advance(ports, 0.125)
    assert not is_open(found, ports)
