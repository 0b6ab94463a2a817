"""Leases that change between a look and a write: how often it is tried again, who asks the holder, and who is woken next."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from sedano import memory
from sedano.engine.batch import Batch
from sedano.engine.leases import Acquisition, Busy, Leasing
from sedano.engine.singletons import Singletons
from sedano.errors import Unavailable
from sedano.model import states
from sedano.model.history.run_rows import Chronicle, Host
from sedano.model.leases import Leased, LeaseRecord, Term
from sedano.ports import EVENTS, Leases, Outgoing, Ports
from tests.stories.fleet import Wire
from tests.stories.stage import in_memory
from tests.stories.test_singletons import Shift

DURATION = 30_000


class Raced(Wire):
    """Leases that another process takes and gives back right before each of the next so many takes."""

    def __init__(self, leases: Leases, rival: Leasing, times: int) -> None:
        super().__init__(leases)
        self.rival, self.left = rival, times

    def take(self, grant: LeaseRecord, seen: LeaseRecord | None) -> Leased:
        """Lose a race, or take."""
        if self.left:
            self.left -= 1
            term = self.rival.attempt(grant.name, "rival", DURATION)
            assert isinstance(term, Term)
            self.rival.release(term)
        return self._leases.take(grant, seen)


class Vanishing(memory.MemoryLeases):
    """Leases that are gone whenever someone would take them."""

    def take(self, grant: LeaseRecord, seen: LeaseRecord | None) -> Leased:
        """Refuse."""
        return Leased(False, None)


def raced(times: int) -> tuple[Leasing, Raced]:
    """Return leases over a store in which a rival is first so many times."""
    ports = memory.ports()
    wire = Raced(ports.leases, Leasing(ports), times)
    return Leasing(over(ports, wire)), wire


def over(ports: Ports, leases: Leases) -> Ports:
    """Return *ports* with these *leases*."""
    return replace(ports, leases=leases)


def test_a_lease_is_taken_although_two_others_were_first() -> None:
    leasing, _ = raced(2)
    assert isinstance(leasing.attempt("a", "me", DURATION), Term)


def test_who_lost_three_races_looks_again_in_a_tenth_of_a_second() -> None:
    leasing, wire = raced(3)
    found = leasing.attempt("a", "me", DURATION)
    assert isinstance(found, Busy)
    assert (found.wait, found.record.owner, found.record.held) == (0.1, "rival", False)
    wire.left = 3
    assert Acquisition(leasing, "a", "me", lambda: DURATION, None, fair=True).step() == pytest.approx(0.101)
    assert wire.calls["want"] == 0, "a lease that is free has no holder to ask"


def test_a_lease_that_is_gone_at_each_attempt_is_an_error_and_not_taken_for_granted() -> None:
    ports = memory.ports()
    with pytest.raises(Unavailable, match="'a': it changed during each of 3 attempts"):
        Leasing(over(ports, Vanishing(ports.clock))).attempt("a", "me", DURATION)


def waiting(fair: Sequence[bool]) -> tuple[list[Acquisition], Wire]:
    """Return who waits for a lease that another process holds."""
    ports = memory.ports()
    assert isinstance(Leasing(ports).attempt("a", "holder", DURATION), Term)
    wire = Wire(ports.leases)
    return [Acquisition(Leasing(over(ports, wire)), "a", f"w{n}", lambda: DURATION, None, fair=one) for n, one in enumerate(fair)], wire


def test_the_holder_is_asked_once_by_the_first_who_waits_and_never_by_who_does_not_ask() -> None:
    (unfair, first, second), wire = waiting([False, True, True])
    wants = []
    for one in (unfair, first, first, second):
        one.step()
        wants.append(wire.calls["want"])
    assert wants == [0, 1, 1, 1]


def test_who_waits_looks_again_after_half_a_second_to_a_second() -> None:
    (one,), _ = waiting([True])
    steps = [one.step() for _ in range(60)]
    pauses = [seconds for seconds in steps if isinstance(seconds, float)]
    assert len(pauses) == len(steps), "nobody got the lease"
    assert 0.5 <= min(pauses) < 0.55
    assert 0.95 < max(pauses) <= 1.0


def test_what_this_process_wrote_itself_needs_no_second_look() -> None:
    ports = memory.ports()
    wire = Wire(ports.leases)
    leasing = Leasing(over(ports, wire))
    for is_renewed in (False, True, False):
        term = leasing.attempt("a", "me", DURATION)
        assert isinstance(term, Term)
        if is_renewed:
            leasing.renew(term)
        ports.clock.sleep(3 * DURATION / 1000)
    assert wire.calls == {"read": 1, "take": 3, "renew": 1}


def test_a_run_that_expired_ends_while_another_one_holds_the_lease() -> None:
    stage = in_memory()
    shift, seen = Shift(stage), list[str]()
    shift.only.delay(0)
    late = shift.only.apply_async((1,), expires=1)

    def meanwhile() -> None:
        stage.pass_time(2)
        shift.deliver_one(shift.other)
        seen.append(late.state)

    shift.inside = meanwhile
    shift.deliver_one(shift.processes.worker)
    assert seen == [states.EXPIRED]


def test_a_receipt_that_has_lapsed_wakes_nobody_and_the_next_one_is_tried() -> None:
    ports = memory.ports()
    leasing = Leasing(ports)
    term = leasing.attempt("a", "me", DURATION)
    assert isinstance(term, Term)
    held = ports.leases.read(["a"])["a"]
    ports.queues.send(EVENTS, [Outgoing(body) for body in "xyz"])
    past, later = ports.clock.now() - 1, ports.clock.now() + 60
    for delivery, until in zip(ports.queues.receive(EVENTS), (past, past, later), strict=True):
        assert ports.leases.wait(held, "\n".join((EVENTS, delivery.receipt, delivery.message_id, str(until))))
    batch = Batch(later, Chronicle(Host("memory.1.0", 1)))
    batch.terms.append(term)
    Singletons(ports, leasing, lambda _: ((), {})).release(batch)
    assert [delivery.body for delivery in ports.queues.receive(EVENTS)] == ["z"]
    assert ports.leases.read(["a"])["a"].waiting == ()
