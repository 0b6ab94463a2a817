"""Stories of leases that were given back: whoever still has the handle does not believe in it any more."""

from tests.stories.fleet import Fleet

DURATION = 30.0


def test_a_lease_that_was_given_back_is_not_valid_any_more(fleet: Fleet) -> None:
    one, two = fleet.process(), fleet.process()
    lease = one.app.lock("x", duration=DURATION).acquire()
    assert lease.release()
    assert (lease.valid(), lease.remaining) == (False, 0.0)
    again = one.app.lock("x", duration=DURATION).acquire()
    assert again.valid()
    again.release()
    assert two.app.lock("x", duration=DURATION, timeout=0).acquire().valid()
    assert not again.valid()


def test_a_handle_of_a_term_that_was_resigned_or_shared_out_is_not_valid_any_more(fleet: Fleet) -> None:
    one, two = fleet.process(), fleet.process()
    leader = one.app.leader("x", duration=DURATION)
    term = leader.lead()
    assert term is not None
    leader.resign()
    assert not term.valid()
    first, second = (process.app.partitions("orders", 4, duration=DURATION) for process in (one, two))
    mine = {partition.index: partition.lease for partition in first.balance()}
    for _ in range(8):
        fleet.clock.advance(1)
        theirs = {partition.index for partition in second.balance()}
        assert not [index for index in theirs if mine[index].valid()]
        first.balance()
    assert theirs
