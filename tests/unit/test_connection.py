"""The breaker of a connection, played on virtual time against a service that is silent for a while."""

import hypothesis.strategies as st
import pytest
from hypothesis import given
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sedano.model.connection_breaker import LONGEST_S, SHORTEST_S, Connection, admitted, answered, pause_after, unanswered

PATIENCE = 5.0


def opened(now: float = 0.0) -> Connection:
    """A breaker that tripped at *now*."""
    return unanswered(Connection(), 0, now)


def test_after_one_call_without_an_answer_the_next_one_fails_at_once() -> None:
    seen = opened(100.0)
    assert admitted(seen, 100.0, PATIENCE) == (False, seen)
    assert admitted(seen, 100.0 + SHORTEST_S - 0.001, PATIENCE)[0] is False
    assert admitted(seen, 100.0 + SHORTEST_S, PATIENCE)[0] is True


def test_half_open_lets_one_call_through_and_no_other() -> None:
    goes, probing = admitted(opened(), 1.0, PATIENCE)
    assert goes
    assert admitted(probing, 1.0, PATIENCE) == (False, probing)
    assert admitted(probing, 1.0 + PATIENCE, PATIENCE)[0] is True, "a probe that was lost does not shut the connection for ever"


def test_an_answer_to_the_probe_closes_and_silence_opens_for_twice_as_long() -> None:
    _, probing = admitted(opened(), 1.0, PATIENCE)
    assert admitted(answered(probing, probing.term), 1.1, PATIENCE)[0] is True
    again = unanswered(probing, probing.term, 2.0)
    assert again.until == 2.0 + 2 * SHORTEST_S


def test_calls_that_were_under_way_together_trip_it_once_and_their_late_answers_close_nothing() -> None:
    seen = Connection()
    term = seen.term
    for late in range(10):
        seen = unanswered(seen, term, 5.0 + late / 10)
    assert (seen.trips, seen.until) == (1, 5.0 + SHORTEST_S)
    assert answered(seen, term) == seen


def test_an_answer_changes_nothing_while_it_is_closed() -> None:
    assert answered(Connection(7), 7) == Connection(7)


@pytest.mark.parametrize(("trips", "seconds"), [(1, 1), (2, 2), (3, 4), (5, 16), (6, 30), (1_000_000, 30)])
def test_it_stays_open_for_longer_after_each_trip_up_to_a_bound(trips: int, seconds: float) -> None:
    assert pause_after(trips) == seconds


class Played(RuleBasedStateMachine):
    """Calls begin and end in any order while time passes; what the module promises holds after each step."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.seen = 0.0, Connection()
        self.under_way: list[tuple[int, float]] = []
        self.probes: dict[int, float] = {}
        self.opened_until = 0.0

    @rule(seconds=st.floats(0, 40))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(patience=st.floats(0.05, 10))
    def a_call_begins(self, patience: float) -> None:
        before = self.seen
        goes, self.seen = admitted(before, self.now, patience)
        assert goes or self.seen == before
        if before.trips:
            assert goes == (self.now >= before.until and self.now >= before.probe)
        else:
            assert goes
        if goes:
            self.under_way.append((self.seen.term, self.now))

    @precondition(lambda self: self.under_way)
    @rule(data=st.data(), silent=st.booleans())
    def a_call_ends(self, data: st.DataObject, silent: bool) -> None:
        term, _ = self.under_way.pop(data.draw(st.integers(0, len(self.under_way) - 1)))
        before = self.seen
        self.seen = unanswered(before, term, self.now) if silent else answered(before, term)
        if term != before.term:
            assert self.seen == before, "what began under an earlier term changes nothing"
        elif silent:
            assert self.seen.trips == before.trips + 1
            assert self.now + SHORTEST_S <= self.seen.until <= self.now + LONGEST_S
        else:
            assert not self.seen.trips
        assert self.seen.term >= before.term

    @invariant()
    def a_call_goes_out_at_the_latest_after_the_longest_pause_and_a_probe(self) -> None:
        latest = max(self.seen.until, self.seen.probe, self.now)
        assert latest - self.now <= LONGEST_S + 10
        assert admitted(self.seen, latest, PATIENCE)[0]


TestPlayed = Played.TestCase


@given(st.lists(st.floats(0, 3), min_size=1, max_size=50), st.integers(1, 20))
def test_a_service_that_stays_silent_is_called_once_a_pause_however_many_ask(gaps: list[float], callers: int) -> None:
    now, seen, calls = 0.0, Connection(), 0
    for gap in gaps:
        now += gap
        for _ in range(callers):
            goes, seen = admitted(seen, now, PATIENCE)
            if goes:
                calls += 1
                seen = unanswered(seen, seen.term, now)
    assert calls <= 1 + now / SHORTEST_S + 1e-6


def test_a_probe_and_each_end_of_it_begin_a_new_term() -> None:
    seen = unanswered(Connection(3), 3, 10.0)
    assert seen == Connection(4, 1, 11.0, 0.0)
    _, probing = admitted(seen, 11.0, PATIENCE)
    assert probing == Connection(5, 1, 11.0, 16.0)
    assert answered(probing, 5) == Connection(6)
    assert answered(probing, 4) == probing
    assert unanswered(probing, 5, 12.0) == Connection(6, 2, 14.0, 0.0)
    assert unanswered(probing, 4, 12.0) == probing


def test_the_longest_pause_is_half_a_minute() -> None:
    assert [pause_after(trips) for trips in (1, 2, 3, 4, 5, 6, 7)] == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert (SHORTEST_S, LONGEST_S) == (1.0, 30.0)


@pytest.mark.parametrize("now", [0.0, 7.5])
def test_while_it_is_closed_every_call_is_sent_and_notes_nothing(now: float) -> None:
    assert admitted(Connection(7), now, PATIENCE) == (True, Connection(7))
