"""Stories of terms: what a holder may believe, who leads, and that no term lasts for ever."""

from tests.stories.fleet import Fleet


def test_belief_counts_from_before_the_request_however_long_its_answer_travelled(fleet: Fleet) -> None:
    process = fleet.process()
    process.app.lock("x", duration=30).acquire().release()
    process.wire.travel = lambda: fleet.clock.advance(10)
    lease = process.app.lock("x", duration=30).acquire()
    assert 18.9 < lease.remaining <= 19.0
    lease.renew()
    assert 18.9 < lease.remaining <= 19.0


def test_who_lost_the_time_asks_for_it_before_it_grants_itself_a_token(fleet: Fleet) -> None:
    process = fleet.process()
    process.app.lock("x", duration=30).acquire().release()
    process.clock.offset += 86_400
    lease = process.app.lock("x", duration=30).acquire()
    assert lease.token <= (fleet.clock.now() + 2) * 1000


def test_one_leads_and_goes_on_leading_without_a_write_until_half_its_time_is_over(fleet: Fleet) -> None:
    one, two = fleet.process(), fleet.process()
    first, second = one.app.leader("s", duration=60), two.app.leader("s", duration=60)
    term = first.lead()
    assert term is not None
    assert second.lead() is None
    writes = one.wire.writes
    assert (again := first.lead()) is not None
    assert again.token == term.token
    assert one.wire.writes == writes
    fleet.clock.advance(40)
    assert first.lead() is not None
    assert one.wire.writes == writes + 1
    fleet.clock.advance(40)
    assert second.lead() is None


def test_another_leads_a_higher_term_after_the_leader_died_or_resigned(fleet: Fleet) -> None:
    one, two = fleet.process(), fleet.process()
    first, second = one.app.leader("s", duration=60), two.app.leader("s", duration=60)
    assert first.who() is None
    assert (old := first.lead()) is not None
    fleet.clock.advance(63)
    assert (new := second.lead()) is not None
    assert new.token > old.token
    assert first.who() == second.who()
    assert first.lead() is None
    second.resign()
    assert (third := first.lead()) is not None
    assert third.token > new.token
