"""The gate of singletons alone: who gets a lease, who waits for how long, and who is woken."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano.engine.batch import Arguments, Batch, Stillborn
from sedano.engine.leases import Leasing
from sedano.engine.singletons import TRIES, Singletons, wake
from sedano.engine.unexpected_errors import apart
from sedano.errors import ArgumentError, Unavailable
from sedano.model import refusals, states
from sedano.model.leases import MOST_WAITING, LeaseRecord, Term
from sedano.model.messages.message import Command
from sedano.model.tasks.task_spec import alone
from sedano.ports import Delivery, Ports
from tests.unit.engine.gated import QUEUE, FailsOnce, Noted, advance, asked, batch, job, names, sent_anew, told, waits, world

LEASE = "singleton/only/"


def first_argument(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """The key of a singleton: its first argument."""
    return str(args[0])


def of(command: Command) -> Arguments:
    """The arguments of a command."""
    return command.args, command.kwargs


def unread(command: Command) -> Arguments:
    """Arguments that no gate may ask for."""
    raise AssertionError(f"the arguments of {command.task_id} are not needed")


def gate(ports: Ports, arguments: Any = of) -> Singletons:
    """The gate, over *ports*."""
    return Singletons(ports, Leasing(ports), arguments)


def held(ports: Ports, owner: str = "another", seconds: float = 60.0) -> Term:
    """The lease of the singleton, held by *owner*."""
    found = Leasing(ports).attempt(LEASE, owner, round(seconds * 1000))
    assert isinstance(found, Term)
    return found


class ReleasedAtOnce:
    """Leases whose holder releases the lease as soon as a message waits for it, and wakes that message."""

    def __init__(self, real: Any, ports: Ports, term: Term) -> None:
        """Pass every call on to *real*."""
        self.real, self.ports, self.term = real, ports, term

    def __getattr__(self, operation: str) -> Any:
        """Return the operation."""
        return getattr(self.real, operation)

    def wait(self, seen: LeaseRecord, message: str) -> bool:
        """Leave *message*; then let the holder act."""
        done = bool(self.real.wait(seen, message))
        released = Leasing(self.ports).release(self.term)
        assert released is not None
        wake(self.ports, released)
        return done


def admitted(ports: Ports, **options: Any) -> tuple[list[Any], Batch]:
    """What becomes of one job of a singleton that is *held*."""
    now = batch(ports)
    return list(gate(ports).admit([job("a", singleton=alone, **options)], now)), now


def test_a_batch_without_singletons_is_passed_on_as_it_is() -> None:
    ports, jobs = world(), [job("a"), job("b")]
    assert gate(ports).admit(jobs, batch(ports)) is jobs


def test_of_a_mixed_batch_only_the_singletons_take_leases() -> None:
    ports = world()
    now = batch(ports)
    found = gate(ports).admit([job("a", "plain"), job("b", singleton=alone)], now)
    assert [(one.delivery.message_id, one.token > 0, one.stillborn) for one in found] == [("a", False, None), ("b", True, None)]
    assert [term.name for term in now.terms] == [LEASE]


def test_a_job_that_shall_end_unrun_takes_no_lease() -> None:
    ports = world()
    dead = job("a", singleton=alone)._replace(stillborn=Stillborn(states.FAILURE, refusals.EXPIRED, "expires", ""))
    now = batch(ports)
    assert (gate(ports).admit([dead], now), now.terms) == ([dead], [])


def test_the_one_key_for_all_arguments_does_not_fetch_them() -> None:
    ports = world()
    assert names(gate(ports, unread).admit([job("a", singleton=alone)], batch(ports))) == ["a"]


def test_each_key_has_a_lease_of_its_own() -> None:
    ports = world()
    now = batch(ports)
    gate(ports).admit([job("a", args=("x",), singleton=first_argument), job("b", args=("y",), singleton=first_argument)], now)
    assert [term.name for term in now.terms] == [f"{LEASE}x", f"{LEASE}y"]


def test_wrong_arguments_are_reported_where_they_are_read_again() -> None:
    def refused(_: Command) -> Arguments:
        raise ArgumentError("n", "is missing")

    ports, wrong = world(), job("a", singleton=first_argument)
    assert gate(ports, refused).admit([wrong], batch(ports)) == [wrong]


def test_the_lease_lasts_as_long_as_the_invocation_and_the_guard() -> None:
    ports = world()
    now = batch(ports, 10.0)
    gate(ports).admit([job("a", singleton=alone)], now)
    assert [term.duration for term in now.terms] == [11_000]


def test_a_busy_singleton_is_counted_and_waits_for_the_holder() -> None:
    ports = world(0.25, "leases")
    held(ports)
    found, now = admitted(ports, receives=3)
    again = pytest.approx(60.06 + 0.25)
    assert (found, now.counts) == ([], {("SingletonsBusy", "only"): 1})
    ((delivery, seconds),) = asked(ports.queues, "hold")
    assert (delivery.message_id, seconds) == ("a", again)
    ((_, receipt),) = asked(ports.leases, "wait")
    assert receipt.split("\n")[:3] == [QUEUE, "receipt-a", "a"]
    assert float(receipt.split("\n")[3]) == ports.clock.now() + seconds
    assert told(now) == [("a", "singleton held by another", round(ports.clock.now() + seconds, 3))]


def test_a_message_that_waited_often_waits_longer_than_its_holder_lasts() -> None:
    ports = world(0.25, "leases")
    held(ports, seconds=11.0)
    gate(ports).admit([sent_anew(job("a", singleton=alone), 3)], batch(ports))
    assert [seconds for _, seconds in asked(ports.queues, "hold")] == [5.0 * 2**3 + 0.25]


def test_receipts_that_only_woke_a_message_make_no_wait_longer() -> None:
    ports = world(0.25, "leases")
    held(ports)
    for receives in (1, 5, 9):
        admitted(ports, receives=receives)
    assert [seconds for _, seconds in asked(ports.queues, "hold")] == [pytest.approx(60.06 + 0.25)] * 3


def test_a_message_is_invisible_before_its_receipt_is_in_the_lease_so_its_wake_up_is_not_undone() -> None:
    ports = world(0.25, "leases")
    term, leases = held(ports), ports.leases
    assert isinstance(leases, Noted)
    leases.port = ReleasedAtOnce(leases.port, ports, term)
    admitted(ports)
    assert [seconds for _, seconds in asked(ports.queues, "hold")][-1] == 0.0


@pytest.mark.parametrize(("unit", "seconds"), [(0.0, 2.5), (0.25, 3.75)])
def test_what_was_woken_in_vain_too_often_leaves_no_receipt(unit: float, seconds: float) -> None:
    ports = world(unit, "leases")
    held(ports)
    found, now = admitted(ports, receives=10)
    assert (found, waits(now), asked(ports.leases, "wait")) == ([], {"a": seconds}, [])


def test_a_lease_that_is_kept_for_another_takes_no_receipt() -> None:
    ports = world(0.25, "leases")
    term = held(ports)
    record = ports.leases.read([LEASE])[LEASE]
    assert ports.leases.want(record, "someone")
    Leasing(ports).release(term)
    found, _ = admitted(ports)
    assert (found, asked(ports.leases, "wait")) == ([], [])
    rest = ports.leases.read([LEASE])[LEASE].expires / 1000 - ports.clock.now()
    assert [seconds for _, seconds in asked(ports.queues, "hold")] == [pytest.approx(rest, abs=0.002)]


class ReleasedBefore(ReleasedAtOnce):
    """Leases whose holder releases the lease before each receipt arrives, *times* in all; then *taken* by another one, if it is set."""

    taken = False
    reserved = False
    times = 1

    def wait(self, seen: LeaseRecord, message: str) -> bool:
        """Let the holder act; then leave *message*."""
        if self.times:
            self.times -= 1
            if self.reserved:
                assert self.real.want(seen, "someone")
            released = Leasing(self.ports).release(self.term)
            assert released is not None
            wake(self.ports, released)
            if self.taken:
                self.term = held(self.ports)
        return bool(self.real.wait(seen, message))


def released_before(**options: Any) -> tuple[Ports, Batch]:
    """A message whose lease is released between the look at it and the receipt."""
    ports = world(0.25, "leases")
    term, leases = held(ports), ports.leases
    assert isinstance(leases, Noted)
    leases.port = fickle = ReleasedBefore(leases.port, ports, term)
    vars(fickle).update(options)
    found, now = admitted(ports)
    assert (found, [one.message_id for one in now.given_back], waits(now)) == ([], ["a"], {})
    return ports, now


def test_a_message_whose_lease_was_released_before_its_receipt_arrived_comes_back_at_once() -> None:
    ports, now = released_before()
    assert [seconds for _, seconds in asked(ports.queues, "hold")][-1] == 0.0
    assert told(now) == [("a", "singleton held by another", round(ports.clock.now(), 3))]


def test_a_message_whose_lease_is_kept_for_another_before_its_receipt_arrived_comes_back_when_it_is_not() -> None:
    ports, _ = released_before(reserved=True)
    rest = ports.leases.read([LEASE])[LEASE].expires / 1000 - ports.clock.now()
    assert [seconds for _, seconds in asked(ports.queues, "hold")][-1] == pytest.approx(rest, abs=0.002)


def test_a_message_whose_lease_changed_hands_before_its_receipt_arrived_leaves_it_with_the_next_holder() -> None:
    ports, _ = released_before(taken=True)
    assert [text.split("\n")[2] for text in ports.leases.read([LEASE])[LEASE].waiting] == ["a"]
    assert [seconds for _, seconds in asked(ports.queues, "hold")] == [pytest.approx(60.0 + 0.25, abs=1.1)] * 2


def test_a_lease_that_changes_hands_each_time_is_not_asked_without_end() -> None:
    ports, _ = released_before(taken=True, times=TRIES)
    assert (len(asked(ports.leases, "wait")), ports.leases.read([LEASE])[LEASE].waiting) == (TRIES, ())
    assert [seconds for _, seconds in asked(ports.queues, "hold")][-1] == 5.0 * 0.75


def test_a_full_line_takes_no_receipt() -> None:
    ports = world(0.25, "leases")
    held(ports)
    for number in range(MOST_WAITING):
        assert ports.leases.wait(ports.leases.read([LEASE])[LEASE], f"message {number}")
    admitted(ports)
    assert [receipt.split("\n")[0] for _, receipt in asked(ports.leases, "wait")] == [f"message {n}" for n in range(MOST_WAITING)]
    assert [seconds for _, seconds in asked(ports.queues, "hold")] == [5.0 * 0.75]


def test_no_beat_extends_a_message_that_waits_to_be_woken() -> None:
    """Its wake-up may come before the batch is told that the message was given back; an extension after it would hide the message again."""
    ports, extended = world(0.25, "leases"), list[bool]()
    term, leases, now = held(ports), ports.leases, batch(ports)
    waiter = job("a", singleton=alone)

    class Beaten(ReleasedAtOnce):
        def wait(self, seen: LeaseRecord, message: str) -> bool:
            done = super().wait(seen, message)
            extended.append(now.is_extended(waiter.delivery))
            return done

    assert isinstance(leases, Noted)
    leases.port = Beaten(leases.port, ports, term)
    gate(ports).admit([waiter], now)
    assert extended == [False]


@pytest.mark.parametrize(("port", "operation"), [("queues", "hold"), ("leases", "wait")])
def test_an_unforeseen_error_while_a_message_begins_to_wait_costs_no_message(port: str, operation: str) -> None:
    """Without this it would be neither given back nor parked, and so deleted from its queue."""
    ports = world()
    held(ports)
    ports = replace(ports, **{port: FailsOnce(getattr(ports, port), operation, KeyError("x"))})
    now, singletons = batch(ports), gate(ports)
    assert apart(ports.telemetry, lambda jobs: singletons.admit(jobs, now), [job("a", singleton=alone)], now, lambda: None) == []
    assert [parking.delivery.message_id for parking in now.parkings] == ["a"]


@pytest.mark.parametrize(("on_busy", "state"), [("drop", states.REVOKED), ("fail", states.FAILURE)])
def test_a_call_that_does_not_wait_ends_and_says_who_runs(on_busy: str, state: str) -> None:
    ports = world()
    held(ports)
    (found,), _ = admitted(ports, on_busy=on_busy)
    assert found.stillborn == Stillborn(state, refusals.BUSY, "singleton", f"{LEASE} is held by another", park=False)  # type: ignore[arg-type]


def test_the_lease_of_its_own_earlier_delivery_drops_no_call() -> None:
    ports = world()
    first = batch(ports)
    gate(ports).admit([job("a", singleton=alone, on_busy="drop")], first)
    found, now = admitted(ports, on_busy="drop", receives=2)
    assert (found, list(waits(now)), [one.message_id for one in now.given_back]) == ([], [], ["a"])


def test_a_lease_that_is_over_wakes_no_one_and_the_others_are_given_back() -> None:
    ports = world()
    now = batch(ports)
    lost = held(ports, seconds=2.0)
    now.terms.append(lost._replace(name="singleton/other/"))
    advance(ports, 5.0)
    gates = gate(ports)
    gates.admit([job("a", singleton=alone)], now)
    now.terms.reverse()
    gates.release(now)
    assert now.terms == []
    assert not ports.leases.read([LEASE])[LEASE].held


def waiting(ports: Ports, now: Batch, *names: str) -> Singletons:
    """A gate that holds the lease, for which the messages *names* wait."""
    gates = gate(ports)
    gates.admit([job("a", singleton=alone)], now)
    for name in names:
        record = ports.leases.read([LEASE])[LEASE]
        assert ports.leases.wait(record, "\n".join((QUEUE, f"receipt-{name}", name, str(ports.clock.now() + 9.0))))
    return gates


@pytest.mark.parametrize(
    ("port", "operation", "woken", "line"),
    [
        ("queues", "hold", ["next"], "message not woken; it is delivered when its wait is over"),
        ("leases", "call", ["first"], "not answered whether a message waits; it is woken"),
    ],
)
def test_a_call_that_fails_while_a_message_is_woken_loses_no_wake_up(port: str, operation: str, woken: list[str], line: str) -> None:
    ports = world()
    now, queues = batch(ports), ports.queues
    gates = waiting(ports, now, "first", "next")
    gates.ports = replace(ports, **{port: FailsOnce(getattr(ports, port), operation, Unavailable("it is away"))})  # type: ignore[arg-type]
    gates.release(now)
    assert [delivery.message_id for delivery, _ in asked(queues, "hold")] == woken
    telemetry: Any = ports.telemetry
    assert list(telemetry.messages()) == [line]


def test_the_first_whose_wait_has_not_ended_is_woken_at_once() -> None:
    ports = world()
    now = batch(ports)
    gates = gate(ports)
    gates.admit([job("a", singleton=alone)], now)
    for name, seconds in (("ended", 0.0), ("next", 0.5), ("last", 9.0)):
        record = ports.leases.read([LEASE])[LEASE]
        assert ports.leases.wait(record, "\n".join((QUEUE, f"receipt-{name}", name, str(ports.clock.now() + seconds))))
    gates.release(now)
    assert asked(ports.queues, "hold") == [(Delivery(QUEUE, "next", "receipt-next", ""), 0.0)]
    record = ports.leases.read([LEASE])[LEASE]
    assert (record.want, len(record.waiting)) == ("next", 1)
