"""Occurrences of periodic tasks that are about to come: their largest number within a round, and a limit that is there before them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.model.budgets import NAMED, Budget, Level, Load
from sedano.model.cluster.controller import QueueBudget, Seen, decide
from sedano.model.cluster.forecast import MOST_MOMENTS, ROUND_S, bursts, foreseen, horizon
from sedano.model.schedules.agenda import Agenda, Periodic, ScheduledCall
from sedano.model.schedules.schedule import Schedule, State, occurrence
from sedano.model.schedules.timetable import At, Every

NOW = 1_767_225_600
BUDGET = Budget(least=2, most=100, cooldown=60, cooldown_growth=2, cooldown_most=600)
budgets = st.builds(
    Budget, least=st.integers(1, 5), most=st.integers(5, 500), cooldown=st.integers(0, 120), cooldown_growth=st.integers(1, 4),
    cooldown_most=st.integers(120, 900), exponent=st.floats(0, 3),
)  # fmt: skip
seconds = st.integers(NOW - 600, NOW + 1_200)
moments = st.lists(seconds, min_size=1, max_size=40).map(lambda found: At(tuple(sorted(set(found)))))
timetables = moments | st.builds(Every, st.integers(1, 900), st.integers(NOW - 900, NOW + 900))


def _periodic(timetable: At | Every, queue: str = "mail", jitter: int = 0, *, paused: bool = False, name: str = "s") -> Periodic:
    return Periodic(Schedule(name, timetable, jitter=jitter, paused=paused), ScheduledCall("t", queue), State(0))


def _agenda(*periodics: Periodic) -> Agenda:
    return Agenda(0, {f"{number}": one for number, one in enumerate(periodics)})


def test_the_most_that_come_due_within_a_round_count_and_not_all_that_are_seen():
    spread = _periodic(Every(30))
    assert bursts([_agenda(spread)], {"mail": 600}, NOW) == {"mail": 2}, "each half minute, twenty in all"
    at_once = [_periodic(At((NOW + 300,)), name=f"s{number}") for number in range(7)]
    assert bursts([_agenda(spread), _agenda(*at_once)], {"mail": 600}, NOW) == {"mail": 9}
    assert bursts([_agenda(*at_once)], {"mail": 299}, NOW) == {"mail": 0}, "beyond what is looked at"
    assert bursts([_agenda(*at_once)], {"mail": 300}, NOW + 300) == {"mail": 0}, "over"


def test_a_paused_schedule_and_one_of_another_queue_bring_none():
    found = [_agenda(_periodic(Every(1), paused=True), _periodic(Every(1), queue="bulk"))]
    assert bursts(found, {"mail": 600}, NOW) == {"mail": 0}


def test_a_schedule_by_the_second_is_looked_at_no_further_than_it_matters():
    assert bursts([_agenda(_periodic(Every(1)))], {"mail": 86_400.0}, NOW) == {"mail": ROUND_S}
    assert MOST_MOMENTS > 10 * ROUND_S


@given(st.lists(st.tuples(timetables, st.integers(0, 200)), max_size=4), st.integers(0, 900))
def test_a_burst_is_what_counting_every_window_finds(given_to, seconds):
    periodics = [_periodic(timetable, jitter=jitter, name=f"s{number}") for number, (timetable, jitter) in enumerate(given_to)]
    due = []
    for one in periodics:
        table = one.schedule.timetable
        known = table.moments if isinstance(table, At) else range(table.start, NOW + 2_000, table.seconds)
        due += [runs for moment in known if NOW < (runs := occurrence(one.schedule, moment).runs_at) <= NOW + seconds]
    most = max((sum(begin <= moment < begin + ROUND_S for moment in due) for begin in due), default=0)
    assert bursts([_agenda(*periodics)], {"mail": seconds}, NOW) == {"mail": most}


def test_without_a_burst_and_while_it_rests_the_strategy_has_the_last_word():
    before, after = Level(10), Level(4, 0, 1, NOW, NOW + 60)
    assert foreseen(BUDGET, before, after, Load(0, 4), 0, NOW) is after
    resting = Level(10, 1, 1, NOW - 10, NOW + 50)
    assert foreseen(BUDGET, resting, resting, Load(0, 0), 90, NOW) is resting
    raised = foreseen(BUDGET, before, after, Load(1, 4), 30, NOW)
    assert (raised.limit, raised.changes, raised.until) == (35, 1, NOW + 60)
    assert foreseen(BUDGET, before, after, Load(1, 4), 1_000, NOW).limit == BUDGET.most


@given(budgets, st.sampled_from(sorted(NAMED)), st.integers(1, 600), st.integers(0, 59), st.lists(st.integers(0, 900), max_size=25))
def test_when_a_burst_comes_the_limit_is_there(budget, strategy, burst, offset, backlog):
    """Rounds by the minute with any backlog before: at the moment of the burst its invocations fit, as far as the budget allows."""
    rule, level = QueueBudget(budget, NAMED[strategy], batch=10), Level(budget.least)
    rounds = len(backlog) + int((budget.cooldown_most + 2 * ROUND_S) // ROUND_S) + 2
    comes = NOW + rounds * int(ROUND_S) - offset
    agendas = [_agenda(*(_periodic(At((comes,)), name=f"s{number}") for number in range(burst)))]
    for number in range(rounds):
        now = float(NOW + number * int(ROUND_S))
        waiting = backlog[number] if number < len(backlog) else 0
        found = bursts(agendas, {"mail": horizon(budget, level)}, now)
        seen = Seen(now, (), {}, {"mail": Load(waiting, 0)}, {"mail": level}, {}, bursts=found)
        for scale in decide({"mail": rule}, {}, seen).scale:
            level = scale.level._replace(applied=True)
    assert level.limit >= min(-(-burst // 10), budget.most)


@pytest.mark.parametrize(
    ("due", "most"),
    [((), 0), ((10,), 1), ((10, 69), 2), ((10, 70), 1), ((10, 60, 69, 70, 119), 4), ((1, 600), 1), ((0, 1), 1), ((600, 601), 1)],
)
def test_what_is_due_within_less_than_a_minute_is_one_burst(due, most):
    agenda = _agenda(*(_periodic(At((NOW + after,)), name=f"s{after}") for after in due))
    assert bursts([agenda], {"mail": 600, "bulk": 1}, NOW) == {"mail": most, "bulk": 0}


@pytest.mark.parametrize("changes", [0, 1, 9])
def test_schedules_are_read_for_a_cool_down_and_two_rounds(changes):
    assert horizon(BUDGET, Level(2, changes=changes)) == min(60 * 2**changes, 600) + 120
    assert MOST_MOMENTS == 1_000


@pytest.mark.parametrize(
    ("after", "load", "burst", "expected"),
    [
        (Level(4, 3), Load(1, 2), 1, Level(4, 3)),
        (Level(4, 3), Load(1, 2), 2, Level(5, 3, 8, NOW, NOW + 600)),
        (Level(4, 3), Load(1, 2), 0, Level(4, 3)),
        (Level(4, 3), Load(9, 0), 0, Level(4, 3)),
        (Level(4, 3), Load(90, 5), 5, Level(100, 3, 8, NOW, NOW + 600)),
        (Level(100, 3), Load(90, 5), 6, Level(100, 3)),
    ],
)
def test_a_level_is_raised_to_what_a_burst_needs(after, load, burst, expected):
    assert foreseen(BUDGET, Level(10, 0, 7), after, load, burst, NOW) == expected


def test_a_jitter_delays_what_is_due_into_and_out_of_what_is_read():
    one = _periodic(At((NOW + 5,)), jitter=100, name="j")
    runs = occurrence(one.schedule, NOW + 5).runs_at
    assert runs > NOW + 5
    assert bursts([_agenda(one)], {"mail": runs - NOW}, NOW) == {"mail": 1}
    assert bursts([_agenda(one)], {"mail": runs - NOW - 1}, NOW) == {"mail": 0}
    assert bursts([_agenda(one)], {"mail": 600}, runs - 1) == {"mail": 1}
    assert bursts([_agenda(one)], {"mail": 600}, runs) == {"mail": 0}
