"""What one process does with leases: which calls it makes, what it remembers of each lease and for how long."""

from dataclasses import replace

import pytest

from sedano import memory
from sedano.engine.leases import Busy, Leasing
from sedano.errors import ConfigurationError
from sedano.model.leases import Leased, LeaseRecord, Term
from sedano.model.store_clock import WIDEST_MS, Interval, Moment
from sedano.ports import Ports
from tests.stories.taps import Watch, tapped

LASTS = 30_000


class Store(memory.MemoryLeases):
    """Leases whose clock may be unknown or uncertain, and that another process takes just before one is taken here."""

    def __init__(self, ports: Ports) -> None:
        """Show the time of *ports*."""
        super().__init__(ports.clock)
        self.calls: list[str] = []
        self.thieves: list[str] = []
        self.known, self.wide, self.dateless = True, 0, False

    def time(self) -> Interval | None:  # type: ignore[override]
        """Return the time as far as it is known."""
        now = super().time()
        return Interval(now.lo - self.wide, now.hi) if self.known else None

    def read(self, names: list[str]) -> dict[str, LeaseRecord]:  # type: ignore[override]
        """Read, and learn the time from the answer."""
        self.calls.append("read")
        self.known, self.wide = not self.dateless, 0
        return super().read(names)

    def take(self, grant: LeaseRecord, seen: LeaseRecord | None) -> Leased:
        """Be taken by another first."""
        self.calls.append("take")
        if self.thieves:
            super().take(grant._replace(owner=self.thieves.pop(), nonce="another"), seen)
        return super().take(grant, seen)


def over(ports: Ports | None = None) -> tuple[Leasing, Store, memory.VirtualClock]:
    """The leases of a process, their store and the clock of both."""
    ports = ports or memory.ports()
    assert isinstance(ports.clock, memory.VirtualClock)
    store = Store(ports)
    return Leasing(replace(ports, leases=store)), store, ports.clock


def taken(leasing: Leasing, name: str = "x", duration: int = LASTS) -> Term:
    """The term of a lease that is taken now."""
    found = leasing.attempt(name, "me", duration)
    assert isinstance(found, Term)
    return found


def test_a_moment_is_both_clocks_in_milliseconds() -> None:
    leasing, _, clock = over()
    clock.advance(3.5)
    assert leasing.moment() == Moment((memory.START + 3.5) * 1000, 3500)


def test_the_wait_for_a_holder_is_in_seconds() -> None:
    leasing, store, clock = over()
    taken(Leasing(replace(memory.ports(), leases=store, clock=clock)))
    found = leasing.attempt("x", "me", LASTS)
    assert isinstance(found, Busy)
    assert found.wait == pytest.approx(30.03, abs=1e-9), "the duration with the drift of the clocks"


def test_a_lease_that_another_took_meanwhile_is_not_read_once_more() -> None:
    leasing, store, _ = over()
    store.thieves = ["thief"]
    found = leasing.attempt("x", "me", LASTS)
    assert isinstance(found, Busy)
    assert (found.record.owner, store.calls) == ("thief", ["read", "take"])


def test_what_a_refused_take_saw_saves_the_next_one() -> None:
    leasing, store, _ = over()
    sight = leasing.observe(["x"])["x"]
    store.thieves = ["thief"]
    assert leasing.take("x", "me", LASTS, sight) is None
    store.calls.clear()
    assert isinstance(leasing.attempt("x", "me", LASTS), Busy)
    assert store.calls == ["read"]


def test_a_known_lease_that_was_given_back_is_taken_without_a_read() -> None:
    leasing, store, _ = over()
    leasing.release(taken(leasing))
    store.calls.clear()
    taken(leasing)
    assert store.calls == ["take"]


def test_an_absent_lease_is_read_before_it_is_taken_though_it_was_absent_before() -> None:
    leasing, store, _ = over()
    leasing.observe(["x"])
    store.calls.clear()
    taken(leasing)
    assert store.calls == ["read", "take"]


def test_a_lease_is_read_where_the_time_is_not_known() -> None:
    leasing, store, _ = over()
    leasing.release(taken(leasing))
    store.known = False
    store.calls.clear()
    taken(leasing)
    assert store.calls == ["read", "take"]


def test_a_lease_is_read_where_the_time_is_uncertain() -> None:
    leasing, store, _ = over()
    leasing.release(taken(leasing))
    store.wide = WIDEST_MS + 1
    store.calls.clear()
    taken(leasing)
    assert store.calls == ["read", "take"]


def test_a_held_lease_is_read_once_where_nothing_is_known_of_it() -> None:
    leasing, store, clock = over()
    taken(Leasing(replace(memory.ports(), leases=store, clock=clock)))
    store.calls.clear()
    assert isinstance(leasing.attempt("x", "me", LASTS), Busy)
    assert store.calls == ["read"]


def test_a_store_without_the_time_is_an_error_of_its_configuration() -> None:
    leasing, store, _ = over()
    store.known, store.dateless = False, True
    with pytest.raises(ConfigurationError, match="no Date"):
        leasing.attempt("x", "me", LASTS)


def test_a_thousand_leases_are_remembered_those_that_were_seen_last() -> None:
    leasing, store, _ = over()
    for number in range(1_000):
        leasing.release(taken(leasing, f"n{number}"))
    leasing.observe(["n0"])
    leasing.release(taken(leasing, "last"))
    for name, calls in (("n2", ["take"]), ("n0", ["take"]), ("last", ["take"]), ("n1", ["read", "take"])):
        store.calls.clear()
        leasing.release(taken(leasing, name))
        assert store.calls == calls, name


def given(leasing: Leasing, clock: memory.VirtualClock, count: int, left: float) -> Term:
    """A term that may be believed for *left* ms more; it and *count* - 1 others, which are over, were given back."""
    young, *_ = terms = [taken(leasing, f"n{number}", 2_000) for number in range(count)]
    for term in terms:
        leasing.release(term)
    young = young._replace(since=young.since._replace(wall=young.since.wall + 1_000 + left, monotonic=young.since.monotonic + 1_000 + left))
    leasing._given[young.name] = young
    clock.advance(2.0)
    return young


def test_a_released_term_is_believed_no_more_though_a_thousand_are_given_back() -> None:
    leasing, _, clock = over()
    young = given(leasing, clock, 1_000, 1.0)
    leasing.release(taken(leasing, "last"))
    assert not leasing.believes(young)
    assert list(leasing._given) == ["n0", "last"], "what is over is forgotten, what may be believed is not"


def test_released_terms_are_looked_through_when_there_are_a_thousand() -> None:
    leasing, _, clock = over()
    given(leasing, clock, 999, 0.0)
    leasing.release(taken(leasing, "one"))
    assert len(leasing._given) == 1_000
    leasing.release(taken(leasing, "two"))
    assert list(leasing._given) == ["one", "two"]


def test_a_refused_renewal_is_one_call() -> None:
    watch = Watch(ports=frozenset({"leases"}))
    leasing = Leasing(tapped(memory.ports(), watch))
    term = taken(leasing)
    leasing.release(term)
    watch.calls.clear()
    assert leasing.renew(term) is None
    assert [call for call in watch.calls if call != "leases.time"] == ["leases.renew"]
