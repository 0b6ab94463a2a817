"""Stories of leases: who holds what when processes contend, die, freeze, are wrong about the time, and lose answers."""

import asyncio

import pytest

from sedano.engine.leases import POLL_S
from sedano.errors import LeaseLost, LeaseTaken, OptionError, Unavailable
from sedano.model.leases import GUARD_MS
from tests.plugins.resources import Resources
from tests.stories.fleet import Fleet, in_memory, on_moto

DURATION = 30.0
TAKE_OVER_S = DURATION + 2 * GUARD_MS / 1000 + POLL_S


def test_of_two_who_contend_one_holds_the_lock_and_the_other_learns_who(fleet: Fleet) -> None:
    one, two = fleet.process(), fleet.process()
    with one.app.lock("x", duration=DURATION) as lease:
        assert lease.valid()
        assert 28.9 < lease.remaining <= 29.0
        assert two.app.lock("x", duration=DURATION).try_acquire() is None
        with pytest.raises(LeaseTaken, match=r"lock/x.* is held by"):
            two.app.lock("x", duration=DURATION, timeout=0).acquire()
    with two.app.lock("x", duration=DURATION, timeout=0) as next_one:
        assert next_one.token > lease.token
    assert not lease.release()


def test_locks_of_different_names_have_nothing_to_do_with_each_other(fleet: Fleet) -> None:
    one, two = fleet.process(), fleet.process()
    with one.app.lock("a#b", duration=DURATION), two.app.lock("a/b", duration=DURATION, timeout=0) as lease:
        assert lease.valid()


def test_whoever_waits_gets_the_lock_soon_after_its_holder_died(fleet: Fleet) -> None:
    dead, alive = fleet.process(), fleet.process()
    dead.app.lock("x", duration=DURATION).acquire()
    died = fleet.clock.now()
    lease = alive.app.lock("x", duration=DURATION).acquire()
    assert lease.valid()
    assert DURATION < fleet.clock.now() - died <= TAKE_OVER_S


def test_waiting_ends_at_the_timeout(fleet: Fleet) -> None:
    one, two = fleet.process(), fleet.process()
    one.app.lock("x", duration=DURATION).acquire()
    begun = fleet.clock.now()
    with pytest.raises(LeaseTaken):
        two.app.lock("x", duration=DURATION, timeout=5).acquire()
    assert 5.0 <= fleet.clock.now() - begun < 5.1


@pytest.mark.parametrize("offset", [-86_400.0, -20.0, 20.0, 86_400.0])
def test_a_wrong_wall_clock_neither_steals_early_nor_waits_longer(fleet: Fleet, offset: float) -> None:
    holder, observer = fleet.process(-offset), fleet.process(offset)
    lease = holder.app.lock("x", duration=DURATION).acquire()
    begun = fleet.clock.now()
    other = observer.app.lock("x", duration=DURATION).acquire()
    assert not lease.valid()
    assert other.valid()
    assert DURATION - GUARD_MS / 1000 < fleet.clock.now() - begun <= TAKE_OVER_S


def test_belief_ends_before_anybody_else_may_begin(fleet: Fleet) -> None:
    one, two = fleet.process(), fleet.process()
    lease, waiting = one.app.lock("x", duration=DURATION).acquire(), two.app.lock("x", duration=DURATION)
    while (other := waiting.try_acquire()) is None:
        fleet.clock.advance(0.1)
    assert not lease.valid()
    assert other.valid()


def test_a_renewal_goes_on_as_long_as_nobody_else_has_the_lease(fleet: Fleet) -> None:
    one, two = fleet.process(), fleet.process()
    lease = one.app.lock("x", duration=DURATION).acquire()
    for _ in range(4):
        fleet.clock.advance(20)
        lease.renew()
        assert lease.valid()
        assert two.app.lock("x", duration=DURATION).try_acquire() is None


def test_a_late_renewal_is_good_when_nobody_took_the_lease_meanwhile(fleet: Fleet) -> None:
    one = fleet.process()
    lease = one.app.lock("x", duration=DURATION).acquire()
    fleet.clock.advance(3_600)
    assert not lease.valid()
    with pytest.raises(LeaseLost):
        lease.check()
    lease.renew()
    assert lease.valid()


def test_a_late_renewal_is_refused_when_somebody_took_the_lease(fleet: Fleet) -> None:
    one, two = fleet.process(), fleet.process()
    lease = one.app.lock("x", duration=DURATION).acquire()
    fleet.clock.advance(60)
    other = two.app.lock("x", duration=DURATION, timeout=0).acquire()
    with pytest.raises(LeaseLost):
        lease.renew()
    assert not lease.valid()
    assert other.valid()


def test_an_old_term_cannot_release_a_new_one(fleet: Fleet) -> None:
    one, two, three = fleet.process(), fleet.process(), fleet.process()
    lease = one.app.lock("x", duration=DURATION).acquire()
    fleet.clock.advance(60)
    two.app.lock("x", duration=DURATION, timeout=0).acquire()
    assert not lease.release()
    assert three.app.lock("x", duration=DURATION).try_acquire() is None


def test_a_block_that_outlived_its_lease_says_so(fleet: Fleet) -> None:
    one, two = fleet.process(), fleet.process()
    lock = one.app.lock("x", duration=DURATION).acquire()
    fleet.clock.advance(60)
    two.app.lock("x", duration=DURATION, timeout=0).acquire()
    with pytest.raises(LeaseLost, match="outlived"), lock:
        fleet.clock.advance(1)


def test_a_block_that_was_late_and_met_nobody_is_fine(fleet: Fleet) -> None:
    with fleet.process().app.lock("x", duration=DURATION):
        fleet.clock.advance(60)


def test_an_error_in_the_block_is_not_hidden_and_the_lock_is_given_back(fleet: Fleet) -> None:
    one, two = fleet.process(), fleet.process()
    with pytest.raises(ZeroDivisionError), one.app.lock("x", duration=DURATION):
        raise ZeroDivisionError
    assert two.app.lock("x", duration=DURATION).try_acquire() is not None


def test_after_a_freeze_a_lease_is_void_until_it_is_renewed(fleet: Fleet) -> None:
    process = fleet.process()
    lease = process.app.lock("x", duration=DURATION).acquire()
    process.clock.freeze(5)
    assert not lease.valid()
    assert lease.remaining == 0
    lease.renew()
    assert lease.valid()


def test_who_was_frozen_learns_the_time_before_deciding_by_it(fleet: Fleet) -> None:
    holder, sleeper = fleet.process(), fleet.process()
    assert sleeper.app.lock("x", duration=DURATION).try_acquire() is not None
    sleeper.clock.freeze(100)
    held = holder.app.lock("x", duration=DURATION).acquire()
    assert sleeper.app.lock("x", duration=DURATION).try_acquire() is None
    assert held.valid()


def test_the_token_rises_over_release_expiry_and_deletion_by_the_ttl(fleet: Fleet) -> None:
    process = fleet.process()
    tokens = []
    for _ in range(3):
        with process.app.lock("x", duration=DURATION) as lease:
            tokens.append(lease.token)
    tokens.append(process.app.lock("x", duration=DURATION).acquire().token)
    fleet.clock.advance(60)
    with fleet.process().app.lock("x", duration=DURATION) as lease:
        tokens.append(lease.token)
    fleet.clock.advance(9 * 86_400)
    fleet.expire("lock/x")
    tokens.append(fleet.process().app.lock("x", duration=DURATION).acquire().token)
    assert tokens == sorted(set(tokens))


def test_a_take_a_renewal_and_a_release_survive_the_loss_of_their_answer(fleet: Fleet) -> None:
    one, two = fleet.process(), fleet.process()
    one.app.lock("x", duration=DURATION).acquire().release()
    one.wire.answers_to_lose = 1
    lease = one.app.lock("x", duration=DURATION).acquire()
    assert lease.valid()
    one.wire.answers_to_lose = 1
    lease.renew()
    assert lease.valid()
    one.wire.answers_to_lose = 1
    assert lease.release()
    assert two.app.lock("x", duration=DURATION).try_acquire() is not None


def test_requests_that_were_lost_are_sent_again(fleet: Fleet) -> None:
    one = fleet.process()
    one.wire.requests_to_lose = 1
    lease = one.app.lock("x", duration=DURATION).acquire()
    one.wire.requests_to_lose = 1
    lease.renew()
    one.wire.requests_to_lose = 1
    assert lease.release()


def test_a_take_that_arrived_without_an_answer_is_nobodys_and_ends_by_itself(fleet: Fleet) -> None:
    one, two = fleet.process(), fleet.process()
    one.app.lock("x", duration=DURATION).acquire().release()
    one.wire.answers_to_lose = 2
    with pytest.raises(Unavailable):
        one.app.lock("x", duration=DURATION).acquire()
    begun = fleet.clock.now()
    two.app.lock("x", duration=DURATION).acquire()
    assert fleet.clock.now() - begun <= TAKE_OVER_S


def test_a_release_without_an_answer_is_left_to_time(fleet: Fleet) -> None:
    one = fleet.process()
    with one.app.lock("x", duration=DURATION):
        one.wire.requests_to_lose = 2
    assert one.wire.calls["release"] == 2


def test_an_unknown_lease_costs_one_read_and_one_write_a_known_one_one_write_and_renewal_and_release_one_each(fleet: Fleet) -> None:
    wire = (process := fleet.process()).wire
    lease = process.app.lock("x", duration=DURATION).acquire()
    assert wire.calls == {"read": 1, "take": 1}
    lease.renew()
    assert wire.calls == {"read": 1, "take": 1, "renew": 1}
    lease.release()
    assert wire.calls == {"read": 1, "take": 1, "renew": 1, "release": 1}
    process.app.lock("x", duration=DURATION).acquire()
    assert wire.calls == {"read": 1, "take": 2, "renew": 1, "release": 1}


def test_whoever_is_refused_reads_and_writes_nothing(fleet: Fleet) -> None:
    one, two = fleet.process(), fleet.process()
    one.app.lock("x", duration=DURATION).acquire()
    for _ in range(3):
        two.app.lock("x", duration=DURATION).try_acquire()
    assert two.wire.writes == 0
    assert two.wire.calls["read"] <= 5


def test_a_lock_is_kept_for_the_one_who_asked_for_it(fleet: Fleet) -> None:
    one, asker, other = fleet.process(), fleet.process(), fleet.process()
    lease = one.app.lock("x", duration=DURATION).acquire()
    with pytest.raises(LeaseTaken):
        asker.app.lock("x", duration=DURATION, timeout=2, fair=True).acquire()
    assert not lease.wanted
    lease.renew()
    assert lease.wanted
    lease.release()
    assert other.app.lock("x", duration=DURATION).try_acquire() is None
    fleet.clock.advance(3.1)
    assert other.app.lock("x", duration=DURATION).try_acquire() is not None


def test_an_async_block_holds_the_lock_too(fleet: Fleet) -> None:
    one, two = fleet.process(), fleet.process()

    async def hold() -> int:
        async with one.app.lock("x", duration=DURATION) as lease:
            assert two.app.lock("x", duration=DURATION).try_acquire() is None
            return lease.token

    assert asyncio.run(hold()) > 0
    assert two.app.lock("x", duration=DURATION).try_acquire() is not None


@pytest.mark.parametrize("name", ["", "x" * 501])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    process = in_memory().process()
    for make in (process.app.lock, process.app.leader):
        with pytest.raises(OptionError, match="name"):
            make(name)


@pytest.mark.parametrize("duration", [0, 1.9, -5, 86_401])
def test_a_duration_that_means_nothing_is_refused(duration: float) -> None:
    process = in_memory().process()
    with pytest.raises(OptionError, match="duration"):
        process.app.lock("x", duration=duration)
    with pytest.raises(OptionError, match="duration"):
        process.app.leader("x", duration=duration)


def test_there_is_no_deadline_outside_of_a_task() -> None:
    with pytest.raises(OptionError, match="not both"):
        in_memory().process().app.lock("x", duration=30, until_deadline=True)
    with pytest.raises(OptionError, match="until_deadline"):
        in_memory().process().app.lock("x", until_deadline=True).acquire()


def test_the_dates_of_dynamodb_are_those_of_true_time(resources: Resources) -> None:
    fleet = on_moto(resources)
    process = fleet.process(offset=500)
    process.app.lock("x", duration=DURATION).acquire()
    time = process.wire.time()
    assert time.lo <= fleet.clock.now() * 1000 <= time.hi
