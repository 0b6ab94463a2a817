"""One round of a worker over its partitions: what it renews, forgets, takes at once or only in the next round, and gives away."""

from dataclasses import replace

from sedano import memory
from sedano.engine.leases import Leasing
from sedano.engine.partitions import Partitioning
from sedano.model.leases import Term
from sedano.model.store_clock import FREEZE_MS
from sedano.ports import Ports
from tests.unit.engine.gated import advance, asked, world

LASTS = 30_000


class Thawed(memory.VirtualClock):
    """A clock whose wall may be ahead of what has passed, as after a freeze."""

    ahead = 0.0

    def now(self) -> float:
        """Return the time of the wall."""
        return super().now() + self.ahead


def parts(ports: Ports, count: int, worker: str = "me", duration: int = LASTS) -> Partitioning:
    """The partitions of *worker*."""
    return Partitioning(Leasing(ports), "parts", count, duration, worker)


def name(index: int, count: int) -> str:
    """The lease of a partition."""
    return f"partition/parts/{count}/{index}"


def renewals(ports: Ports) -> int:
    """How many renewals were sent."""
    return len(asked(ports.leases, "renew"))


def test_a_term_is_renewed_once_its_half_is_over_and_not_before() -> None:
    ports = world(0.0, "leases")
    mine = parts(ports, 1, duration=4_000)
    mine.balance()
    advance(ports, 1.0)
    mine.balance()
    assert renewals(ports) == 0, "2 of its 4 s are left beside the guard"
    advance(ports, 0.125)
    (term,) = mine.balance().values()
    assert (renewals(ports), term.since.monotonic) == (1, 1_125)
    advance(ports, 1.0)
    mine.balance()
    assert renewals(ports) == 1, "the renewed term is the one that counts"


def test_after_a_freeze_a_term_is_renewed_though_most_of_it_is_left() -> None:
    clock = Thawed(memory.START)
    ports = world(0.0)
    leases = memory.MemoryLeases(clock)
    ports = replace(ports, clock=clock, leases=leases)
    mine = parts(ports, 1, duration=600_000)
    (before,) = mine.balance().values()
    clock.ahead = FREEZE_MS / 1000 + 0.1
    (after,) = mine.balance().values()
    assert after.expires > before.expires


def test_a_partition_whose_lease_is_gone_is_not_kept() -> None:
    ports = world(0.0, "leases")
    mine = parts(ports, 1)
    mine.balance()
    term = mine._terms[0]
    record = ports.leases.read([name(0, 1)])[name(0, 1)]
    ports.leases.restore([])  # type: ignore[attr-defined]
    assert mine.balance()[0].nonce != term.nonce, "it was deleted, and is taken anew"
    ports.leases.restore([record._replace(nonce="another", owner="another")])  # type: ignore[attr-defined]
    assert mine.balance() == {}, "another holds it"
    assert renewals(ports) == 0


def test_a_partition_that_was_given_back_in_its_name_is_taken_anew() -> None:
    ports = world(0.0, "leases")
    mine = parts(ports, 1)
    term = mine.balance()[0]
    assert Leasing(ports).release(term) is not None
    assert mine.balance()[0].token > term.token


def test_a_lapsed_term_that_was_renewed_in_this_round_goes_to_the_one_who_asked() -> None:
    ports = world(0.0, "leases")
    mine = parts(ports, 2)
    mine.balance()
    assert ports.leases.want(ports.leases.read([name(0, 2)])[name(0, 2)], "other")
    advance(ports, LASTS / 1000 + 5)
    assert list(mine.balance()) == [1]
    assert renewals(ports) == 2


def test_what_is_free_beyond_the_share_is_taken_in_the_round_after() -> None:
    ports = world(0.0, "leases")
    other, mine = Leasing(ports), parts(ports, 2)
    theirs = other.attempt(name(1, 2), "other", LASTS)
    assert isinstance(theirs, Term)
    assert list(mine.balance()) == [0]
    assert ports.leases.want(ports.leases.read([name(0, 2)])[name(0, 2)], "ghost"), "it asks and is gone"
    other.release(theirs)
    assert list(mine.balance()) == [0], "the one who asked has its share free"
    assert list(mine.balance()) == [0, 1]
