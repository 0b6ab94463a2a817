"""Who calls the gates of a worker: when each is loaded, which of them are asked, and what the second look remembers."""

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from sedano.engine.batch import Batch, Job
from sedano.engine.gate import Gate
from sedano.engine.health import RegisteredCheck
from sedano.engine.registry import Registry
from sedano.engine.worker.admission import Admission, GateEntry, Occasion, Workplace
from sedano.engine.worker.gate_order import GATES, voting
from sedano.engine.worker.start_check import LOOK_S
from sedano.model.circuits import Breaker
from sedano.model.cluster.control_record import ControlRecord
from sedano.model.health import HealthCheck
from sedano.model.ledger.records import NO_RETRY, Claim
from sedano.ports import Delivery
from tests.unit.engine.gated import advance, batch, job, names, world
from tests.unit.engine.test_pausing import Known, held, look

Wanted = Callable[[Occasion], bool]


def never(_: Occasion) -> bool:
    """On no occasion."""
    return False


class Counting(Gate):
    """Notes for which jobs it is asked."""

    def __init__(self) -> None:
        """Start empty."""
        self.asked: list[list[str]] = []

    def admit(self, jobs: Sequence[Job], batch: Batch) -> Sequence[Job]:
        """Let all pass."""
        self.asked.append(names(jobs))
        return jobs


def admission(*entries: tuple[Wanted, Gate], checks: bool = False) -> Admission:
    """The gates of a worker without tasks: each when it is wanted, and how to load it once."""
    registry: Any = Registry(tasks={}, checks={"db": RegisteredCheck(HealthCheck("db"))} if checks else {})
    known: Any = SimpleNamespace(control=ControlRecord())
    nothing: Any = None
    here = Workplace(registry, world(), nothing, "me", 1, nothing, known, nothing, nothing, 5)
    loads = [iter([gate]) for _, gate in entries]
    return Admission([GateEntry(f"g{n}", wanted, _once(loads[n])) for n, (wanted, _) in enumerate(entries)], here)


def _once(gates: Iterator[Gate]) -> Callable[[Workplace], Gate]:
    return lambda _: next(gates)


@pytest.mark.parametrize("wanted", [lambda at: any(task.name == "only" for task in at.tasks), lambda at: at.limits == {"only": "one"}])
def test_a_gate_is_loaded_with_the_first_jobs_that_need_it_and_asked_about_them(wanted: Wanted) -> None:
    gate, other = Counting(), Counting()
    found = admission((wanted, gate), (never, other))
    for name in "ab":
        now = batch(world())
        now.limits = {"only": "one"}
        assert names(found.admit([job(name)], now)) == [name]
    assert (gate.asked, other.asked) == ([["a"], ["b"]], [])


def test_a_gate_that_is_asked_for_by_its_name_is_loaded_once() -> None:
    gate, other = Counting(), Counting()
    found = admission((never, other), (never, gate))
    assert found.gate("g1") is gate
    assert found.gate("g1") is gate
    found.admit([job("a")], batch(world()))
    assert (gate.asked, other.asked) == ([["a"]], [])


class Parks(Gate):
    """Parks the message `a` and then breaks, or returns all."""

    def __init__(self, error: Exception | None) -> None:
        """Raise *error*."""
        self.error = error

    def sift(self, deliveries: Sequence[Delivery], batch: Batch) -> Sequence[Delivery]:
        """Park it."""
        batch.park(deliveries[0], "code", "field", "why")
        if self.error is not None:
            raise self.error
        return deliveries


@pytest.mark.parametrize("error", [ValueError("no"), None])
def test_what_a_gate_decided_is_not_decoded_even_if_the_gate_breaks_afterwards(error: Exception | None) -> None:
    deliveries = [job(name).delivery for name in "ab"]
    assert admission((lambda _: True, Parks(error))).sift(deliveries, batch(world())) == deliveries[1:]


class Turns(Gate):
    """Knows these turns."""

    def __init__(self, found: Any) -> None:
        """Return *found*."""
        self.found = found

    def turns(self, deliveries: Sequence[Delivery], jobs: Sequence[Job], batch: Batch) -> Iterator[list[Job]] | None:
        """Return them."""
        return self.found  # type: ignore[no-any-return]  # of any kind


def test_the_first_gate_that_keeps_an_order_determines_the_turns() -> None:
    first, second = iter([[job("a")]]), iter([[job("b")]])

    def always(_: Occasion) -> bool:
        return True

    found = admission((always, Turns(None)), (always, Turns(first)), (always, Turns(second)))
    assert found.turns([], [], batch(world())) is first
    assert admission((always, Turns(None))).turns([], [], batch(world())) is None


def test_a_gate_is_asked_only_at_the_moments_that_it_overrides() -> None:
    found = admission((lambda _: True, Counting()))
    assert (found.opening, found.beginning, found.noting) == ([], [], [])


@pytest.mark.parametrize("checks", [True, False])
def test_after_a_round_gates_are_looked_for_only_where_a_body_may_have_reported_to_a_check(checks: bool) -> None:
    occasions: list[Occasion] = []

    def noted(at: Occasion) -> bool:
        occasions.append(at)
        return False

    found = admission((lambda _: True, Counting()), (noted, Counting()), checks=checks)
    occasions.clear()
    found.learn([], [], batch(world()))
    assert len(occasions) == int(checks)


def test_circuits_are_needed_for_a_guarded_task_and_for_a_report_to_a_check() -> None:
    (entry,) = [entry for entry in GATES if entry.name == "circuits"]
    guarded, plain = job("a", circuit=Breaker()).task, job("b").task
    check = RegisteredCheck(HealthCheck("db"))
    registry = Registry(checks={"db": check})
    assert entry.wanted(Occasion(registry, ControlRecord(), tasks=[plain, guarded]))
    assert not entry.wanted(Occasion(registry, ControlRecord(), tasks=[plain]))
    check.inbox.append(("healthy", ""))
    assert entry.wanted(Occasion(registry, ControlRecord(), tasks=[plain]))


def test_a_vote_is_handed_to_the_gate_of_elections() -> None:
    votes: list[tuple[Any, ...]] = []
    gates: Any = SimpleNamespace(gate=lambda name: SimpleNamespace(vote=lambda *given: votes.append((name, *given))))
    context: Any = object()
    vote = voting(gates)
    vote(context, "e", True)
    vote(context, "e", False, ("topic", "task-1", "draft"))
    assert votes == [("elections", context, "e", True, ()), ("elections", context, "e", False, ("topic", "task-1", "draft"))]


def test_a_revocation_that_was_read_is_forgotten_in_the_next_round() -> None:
    ports, known = world(), Known(paused=frozenset({"other"}))
    second, gates = look(ports, known)
    assert (second.due(0.0), second.due(0.5), second.due(1.0)) == (False, False, True), "a look lasts for a second"
    ports.ledger.claim([Claim(name, 0, name, "n", ports.clock.now() + 1e6, 1, "only") for name in "ab"])
    assert ports.ledger.ask("a", NO_RETRY)
    second.begin([held(job("a")), held(job("b"))])
    advance(ports, LOOK_S)
    second.ask(ports.clock.now())
    second.at(job("a"), ports.clock.now())
    assert gates.given == [{"a"}]
    second.begin([])
    second.at(job("a"), ports.clock.now())
    assert gates.given[1:] == [set()]
