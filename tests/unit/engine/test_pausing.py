"""The gate of pauses, and the second look, alone: what waits, for how long, and what is not asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from sedano.engine.batch import Arguments, Held, Job, Later, Stillborn
from sedano.engine.gate import Gate
from sedano.engine.pauses import HOLD_S, Pauses, may_be_woken, put_off
from sedano.engine.redelivery import ANEW_AFTER
from sedano.engine.worker.start_check import LOOK_S, SecondLook
from sedano.errors import Unavailable
from sedano.model import refusals, states
from sedano.model.cluster.control_record import ControlRecord
from sedano.model.deferrals import SHORT_S
from sedano.model.messages.message import MAP, Command
from sedano.model.order import KEPT_S
from sedano.ports import Ports
from tests.unit.engine.gated import FailsOnce, Steady, advance, asked, batch, job, names, told, waits, world

NOTHING: Arguments = ((), {})


@dataclass
class Known:
    """Stands for the membership: the pauses that this worker knows, and how often it looked at the record again."""

    paused: frozenset[str] = frozenset()
    revoked: Mapping[str, int] = field(default_factory=dict)
    looks: int = 0

    @property
    def control(self) -> ControlRecord:
        """The control record as this worker knows it."""
        return ControlRecord(paused=self.paused, revoked=self.revoked)

    def look(self) -> None:
        """Look once more."""
        self.looks += 1


@dataclass
class Reads:
    """Reads arguments of commands, and notes whose it read."""

    answer: Arguments = NOTHING
    of: list[str] = field(default_factory=list)

    def __call__(self, command: Command) -> Arguments:
        """Return the arguments."""
        self.of.append(command.task_id)
        return self.answer


def gate(ports: Ports, *paused: str, reads: Reads | None = None) -> Pauses:
    """The gate of a worker that knows these pauses."""
    known: Any = Known(frozenset(paused))
    return Pauses(ports, known, reads or Reads())


def of_map(one: Job) -> Job:
    """The job as a call of a map."""
    return one._replace(command=one.command._replace(task=MAP))


def claimless(name: str = "a", **options: Any) -> Job:
    """A job that runs without a claim."""
    return job(name, delivery="at_least_once", **options)


@pytest.mark.parametrize(("receives", "patience"), [(1, HOLD_S), (2, 2 * HOLD_S)])
def test_a_message_of_a_paused_queue_waits_up_to_a_quarter_less_and_twice_as_long_each_time(receives: int, patience: float) -> None:
    ports = world(0.5)
    found = batch(ports)
    assert gate(ports, "default").sift([job("a", receives=receives).delivery], found) == []
    assert waits(found) == {"a": patience * 0.875}


def test_a_pause_of_a_queue_hides_no_pause_of_a_task_and_what_must_end_unrun_is_not_paused() -> None:
    ports = world(0.0)
    found, over = batch(ports), job("b")._replace(stillborn=Stillborn(states.EXPIRED, refusals.EXPIRED, "expires", "too late"))
    assert names(gate(ports, "other", "task=only").admit([job("a"), over], found)) == ["b"]
    assert waits(found) == {"a": HOLD_S}
    assert found.counts == {("TasksPaused", "only"): 1}


def test_a_paused_message_that_waited_for_its_place_nearly_as_long_as_it_is_kept_is_set_aside() -> None:
    ports = world(0.0)
    found, one = batch(ports), job("a").delivery
    old = one._replace(serial_key="k", sent=ports.clock.now() - KEPT_S - 1.0)
    assert gate(ports, "default").sift([old], found) == []
    assert ([parking.delivery for parking in found.parkings], waits(found)) == ([old], {})


def test_where_nothing_is_paused_the_messages_pass_as_they_came() -> None:
    ports = world()
    deliveries = (job("a").delivery,)
    assert gate(ports).sift(deliveries, batch(ports)) is deliveries
    assert gate(ports, "other").sift(deliveries, batch(ports)) == [*deliveries]


def test_a_body_is_stopped_only_by_what_was_read_anew() -> None:
    ports = world(0.0)
    paused = gate(ports, "task=only")
    assert paused.begin(job("a"), 0.0, None) is None
    assert paused.begin(job("a"), 0.0, ()) == Later("paused: task only", HOLD_S)
    assert gate(ports, "default").begin(job("a"), 0.0, ()) == Later("paused: queue default", HOLD_S)
    assert gate(ports, "task=other").begin(job("a"), 0.0, ()) is None


def test_the_arguments_of_a_map_are_read_only_while_something_is_paused() -> None:
    ports, reads = world(0.0), Reads((("only", [1]), {}))
    assert gate(ports, reads=reads).begin(of_map(job("a")), 0.0, ()) is None
    assert reads.of == []
    assert gate(ports, "task=only", reads=reads).begin(of_map(job("a")), 0.0, ()) == Later("paused: task only", HOLD_S)
    assert reads.of == ["a"]


def test_a_map_without_arguments_is_paused_by_its_own_name_only() -> None:
    ports = world(0.0)
    found = batch(ports)
    assert names(gate(ports, "task=only").admit([of_map(job("a"))], found)) == ["a"]
    assert gate(ports, f"task={MAP}").admit([of_map(job("b"))], found) == []
    assert told(found) == [("b", f"paused: task {MAP}", ports.clock.now() + HOLD_S)]


def test_an_error_that_no_rule_foresaw_costs_the_one_message_of_a_paused_queue_for_which_it_was_raised() -> None:
    ports = replace(world(), entropy=FailsOnce(Steady(0.0), "unit", ValueError("no number")))
    found, (first, second) = batch(ports), (job("a").delivery, job("b").delivery)
    assert gate(ports, "default").sift([first, second], found) == []
    assert [(one.delivery, one.code) for one in found.parkings] == [(first, refusals.UNEXPECTED)]
    assert waits(found) == {"b": HOLD_S}


def test_a_map_whose_arguments_cannot_be_read_is_paused_by_its_own_name_only() -> None:
    def unread(_: Command) -> Arguments:
        raise Unavailable("no bucket")

    ports = world(0.0)
    found, known = batch(ports), Known(frozenset({"task=only"}))
    blind = Pauses(ports, known, unread)  # type: ignore[arg-type]  # stands for the membership
    assert names(blind.admit([of_map(job("a"))], found)) == ["a"]
    assert told(found) == []


def test_a_gate_that_overrides_nothing_stops_nothing() -> None:
    ports, one = world(), job("a")
    opened, found, jobs, deliveries = Gate(), batch(ports), (one,), (one.delivery,)
    assert opened.sift(deliveries, found) is deliveries
    assert opened.admit(jobs, found) is jobs
    assert (opened.open(one), opened.turns(deliveries, jobs, found), opened.begin(one, 0.0, ())) == (None, None, None)
    assert not found.is_decided(one.delivery)


@pytest.mark.parametrize(
    ("one", "seconds", "in_flight"),
    [
        (job("a"), SHORT_S, True),
        (job("a"), SHORT_S + 1, False),
        (job("a", receives=ANEW_AFTER - 1), SHORT_S, True),
        (job("a", receives=ANEW_AFTER), SHORT_S, False),
        (claimless(), SHORT_S, False),
    ],
)
def test_only_a_claimed_task_that_came_seldom_spends_a_short_wait_in_flight(one: Job, seconds: float, in_flight: bool) -> None:
    ports = world()
    found = batch(ports)
    put_off(ports, one, "why", seconds, found)
    assert asked(ports.queues, "hold") == ([(one.delivery, seconds)] if in_flight else [])
    assert waits(found) == ({} if in_flight else {"a": seconds})
    assert found.given_back == [one.delivery]


def test_what_waits_to_be_woken_is_claimed_and_was_not_woken_in_vain_too_often() -> None:
    assert may_be_woken(job("a", receives=ANEW_AFTER - 1))
    assert not may_be_woken(job("a", receives=ANEW_AFTER))
    assert not may_be_woken(claimless())


@dataclass
class Asked:
    """Stands for the gates of a worker, which note what they are given before a body begins."""

    given: list[Any] = field(default_factory=list)
    met: int = 0

    @property
    def beginning(self) -> list[Any]:
        """One gate."""
        return [SimpleNamespace(begin=lambda one, now, anew: self.given.append(anew))]

    def meet_anew(self) -> None:
        """Begin anew."""
        self.met += 1


def look(ports: Ports, known: Known) -> tuple[SecondLook, Asked]:
    """A second look over what this worker knows."""
    stand_in: Any = known
    gates: Any = Asked()
    return SecondLook(ports, stand_in, gates), gates


def held(one: Job) -> tuple[Held, Arguments]:
    """A job that is ready."""
    return Held(one, None), NOTHING


@pytest.mark.parametrize("given", [{"paused": frozenset({"other"})}, {"revoked": {"tenant=acme": 1}}])
def test_what_was_read_for_an_earlier_round_holds_for_a_later_one_while_anything_is_paused_or_revoked(given: dict[str, Any]) -> None:
    ports, known = world(), Known(**given)
    second, gates = look(ports, known)
    second.begin([held(job("a"))])
    second.at(job("a"), ports.clock.now())
    assert gates.given == [None], "nothing was read yet, though something is paused or revoked"
    advance(ports, LOOK_S)
    second.ask(ports.clock.now())
    second.begin([held(job("b"))])
    second.at(job("b"), ports.clock.now())
    assert gates.given == [None, set()]
    known.paused, known.revoked = frozenset(), {}
    second.begin([held(job("c"))])
    second.at(job("c"), ports.clock.now())
    assert gates.given == [None, set(), None]


def test_the_stores_are_asked_once_a_second_and_the_ledger_only_about_claimed_tasks() -> None:
    ports, known = world(0.25, "ledger"), Known()
    second, gates = look(ports, known)
    second.begin([held(claimless())])
    assert not second.due(ports.clock.now())
    second.ask(ports.clock.now())
    assert (known.looks, gates.met) == (0, 0)
    advance(ports, LOOK_S)
    assert second.due(ports.clock.now())
    second.ask(ports.clock.now())
    assert (known.looks, gates.met) == (1, 1)
    assert asked(ports.ledger, "read") == [], "a task without a claim has no record that a revocation could mark"
    second.begin([held(claimless()), held(job("b"))])
    advance(ports, LOOK_S)
    second.ask(ports.clock.now())
    assert asked(ports.ledger, "read") == [(["b"],)]


def test_a_clock_that_was_set_back_makes_a_look_due() -> None:
    ports = world()
    second, _ = look(ports, Known())
    second.begin([])
    assert second.due(ports.clock.now() - 0.001)
