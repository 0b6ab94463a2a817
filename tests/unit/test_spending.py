"""Spending limits: amounts are exact, each level is acted on once, and only the limit's own pauses are made and ended."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.aws.settings import limited_tenants
from sedano.errors import ConfigurationError, OptionError
from sedano.model import pauses
from sedano.model.pauses import Pause, pausing
from sedano.model.spending import (
    DAY_S,
    MOST_NANODOLLARS,
    NEAR,
    REACHED,
    SpendingLimit,
    SpendingMark,
    SpendingVerdict,
    day_of,
    dollars,
    is_alone,
    judged,
    level_of,
    mark_of,
    memo_of,
    nanodollars,
    pauses_of,
    reason_of,
    with_own,
)
from tests.unit.generated import ADD

NOON = 1_767_225_600 + DAY_S // 2
TODAY = NOON - DAY_S // 2
ACME = SpendingLimit("acme", 1_000)
AMOUNTS = st.integers(1, MOST_NANODOLLARS)


@given(AMOUNTS)
def test_an_amount_is_read_as_it_is_written(nanos: int) -> None:
    assert nanodollars(dollars(nanos), "spending") == nanos


@pytest.mark.parametrize(
    ("text", "nanos"),
    [("0.50 USD", 500_000_000), ("5 USD", 5 * 10**9), ("0.000000001 USD", 1), ("1000000 USD", 10**15), ("12.3 USD", 12_300_000_000)],
)
def test_an_amount_is_in_nanodollars(text: str, nanos: int) -> None:
    assert nanodollars(text, "spending") == nanos


@pytest.mark.parametrize(
    ("nanos", "text"), [(0, "0.00 USD"), (500_000_000, "0.50 USD"), (12_345_678_900, "12.3456789 USD"), (1, "0.000000001 USD")]
)
def test_an_amount_has_the_digits_that_it_needs(nanos: int, text: str) -> None:
    assert dollars(nanos) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.5", "budget: '0.5' is not an amount in US dollars; write '0.5 USD'"), ("1 EUR", "write '1 USD'"), ("2USD", "write '2 USD'"),
        ("-1 USD", "write '0.50 USD'"), ("", "write '0.50 USD'"), (None, "None is not an amount"), (2.0, "2.0 is not an amount"),
        ("1.0000000001 USD", "write '1.000000000 USD'"), ("0 USD", "budget: 0 USD is not more than 0 and at most 1000000 USD"),
        ("1000000.000000001 USD", "at most 1000000 USD"), ("12345678 USD", "not an amount"), ("1 USD ", "not an amount"),
    ],
)  # fmt: skip
def test_a_text_that_is_not_an_amount_is_refused_with_what_to_write(text: object, message: str) -> None:
    with pytest.raises(OptionError) as refused:
        nanodollars(text, "budget")
    assert message in str(refused.value)


def test_a_day_begins_at_midnight_in_utc() -> None:
    assert [day_of(at) for at in (TODAY, NOON + 0.5, TODAY + DAY_S - 0.1, TODAY + DAY_S)] == [TODAY, TODAY, TODAY, TODAY + DAY_S]


def test_levels_are_reached_at_80_and_100_percent() -> None:
    assert [level_of(spent, 1_000) for spent in (0, 799, 800, 999, 1_000, 2_000)] == [0, 0, NEAR, NEAR, REACHED, REACHED]
    assert (level_of(0, 1), level_of(1, 1)) == (0, REACHED)
    assert (NEAR, REACHED) == (80, 100)


@pytest.mark.parametrize(
    ("spent", "last", "verdict"),
    [
        (0, SpendingMark(), None), (800, SpendingMark(), (NEAR, False, False)), (1_000, SpendingMark(), (REACHED, True, False)),
        (900, SpendingMark(TODAY, 1_000, NEAR, 800), None), (1_000, SpendingMark(TODAY, 1_000, NEAR, 800), (REACHED, True, False)),
        (2_000, SpendingMark(TODAY, 1_000, REACHED, 1_000), None), (0, SpendingMark(TODAY, 1_000, REACHED, 1_000), None),
        (0, SpendingMark(TODAY - DAY_S, 1_000, REACHED, 1_000), None),
        (800, SpendingMark(TODAY - DAY_S, 1_000, REACHED, 1_000), (NEAR, False, False)),
        (700, SpendingMark(TODAY, 500, REACHED, 600), (0, False, True)), (900, SpendingMark(TODAY, 500, REACHED, 600), (NEAR, False, True)),
        (1_000, SpendingMark(TODAY, 500, REACHED, 600), (REACHED, True, False)),
        (700, SpendingMark(TODAY, 900, NEAR, 700), (0, False, False)),
    ],
)  # fmt: skip
def test_each_level_of_a_day_and_a_limit_is_acted_on_once(spent: int, last: SpendingMark, verdict: tuple[int, bool, bool] | None) -> None:
    found = judged(ACME, spent, last, NOON)
    if verdict is None:
        assert found == SpendingVerdict(last)
        return
    level, pause, resume = verdict
    mark = SpendingMark(day=TODAY, limit=1_000, level=level, spent=spent)
    assert found == SpendingVerdict(mark, changed=True, pause=pause, resume=resume)


@given(AMOUNTS, st.lists(st.integers(0, MOST_NANODOLLARS), min_size=1, max_size=20))
def test_in_one_day_a_limit_warns_and_pauses_at_most_once_and_never_resumes(limit: int, seen: list[int]) -> None:
    mark, done = SpendingMark(), []
    for spent in seen:
        verdict = judged(SpendingLimit("", limit), spent, mark, NOON)
        mark = verdict.mark
        done += [verdict.mark.level] if verdict.changed else []
        assert not verdict.resume
        assert verdict.pause == (verdict.changed and mark.level == REACHED)
    assert done == sorted(set(done)), "each level once, and upwards"
    assert (REACHED in done) == (max(seen) >= limit)


def test_a_limit_pauses_its_tenant_or_each_queue_for_the_utc_day() -> None:
    assert pauses_of(ACME, ("default",), NOON) == (Pause("tenant", "acme", TODAY, TODAY + DAY_S),)
    both = pauses_of(SpendingLimit("", 1), ("default", "mail"), NOON)
    assert both == (Pause("queue", "default", TODAY, TODAY + DAY_S), Pause("queue", "mail", TODAY, TODAY + DAY_S))
    assert [(one.holds(NOON), one.holds(TODAY + DAY_S)) for one in both] == [(True, False)] * 2


@given(st.sets(st.sampled_from(["tenant=acme", "mail", f"tenant=acme 0 {NOON + 60}", f"task=a 0 {NOON - 60}"])))
def test_the_own_pauses_lie_beside_those_of_people(others: set[str]) -> None:
    (own,) = pauses_of(ACME, (), NOON)
    paused = with_own(frozenset(others), [own], NOON)
    assert own.text in paused
    assert paused - {own.text} == {one for one in others if not one.startswith("task=")}, "an expired pause is removed, and no other"
    assert pausing(paused, ADD._replace(tenant="acme"), "", NOON) is not None
    assert is_alone(paused, own) == (not any(one.startswith("tenant=acme") for one in others))
    assert not is_alone(others, own)


def test_a_person_s_pause_never_has_the_window_of_a_limit_s() -> None:
    made = pauses.pause("tenant", "acme", 0.0, TODAY + DAY_S)
    assert made.text not in {one.text for one in pauses_of(ACME, (), NOON)}


def test_a_reason_names_what_was_spent_and_the_limit() -> None:
    assert reason_of(SpendingLimit("", 500_000_000), 510_000_000) == "0.51 USD of 0.50 USD spent in this UTC day"
    assert (ACME.owner, SpendingLimit("", 1).owner) == ("the tenant acme", "the app")


@given(st.builds(SpendingMark, st.integers(), st.integers(), st.integers(), st.integers()))
def test_a_mark_is_read_back(mark: SpendingMark) -> None:
    assert mark_of(mark.text) == mark


@pytest.mark.parametrize("text", ["", "[]", "[1, 2, 3]", '[1, 2, 3, "4"]', "{", "[1, 2, 3, true]", '{"day": 1}', "[1, 2, 3, 4, 5]"])
def test_an_unreadable_mark_is_an_empty_one(text: str) -> None:
    assert mark_of(text) == SpendingMark()


def test_each_limit_has_its_own_memo() -> None:
    assert [memo_of(SpendingLimit(tenant, 1)) for tenant in ("", "app", "acme")] == [
        "spending:app", "spending:tenant=app", "spending:tenant=acme",
    ]  # fmt: skip


def test_the_recorder_reads_the_tenants_from_its_environment() -> None:
    assert limited_tenants({}) is None
    assert limited_tenants({"SEDANO_SPENDING": '["", "acme"]'}) == ("", "acme")
    for wrong in ("{}", "[1]", "acme"):
        with pytest.raises(ConfigurationError, match="SEDANO_SPENDING"):
            limited_tenants({"SEDANO_SPENDING": wrong})
