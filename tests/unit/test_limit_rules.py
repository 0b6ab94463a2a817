"""What a limit is changed to, how long a slot is kept, and how calls are collected: the texts and figures, exactly."""

import math
from typing import Any

import pytest

from sedano.errors import MessageRefused, OptionError
from sedano.model import collection
from sedano.model.collection import Call, Fetched, Latest
from sedano.model.limits import task_limits as rule
from sedano.model.limits.rate import Pace
from sedano.model.limits.task_limits import LimitChange, Range, Slot, TaskLimits
from sedano.model.messages.timestamps import LAST_SECOND

DECLARED = TaskLimits((Pace(5),), concurrency=3, debounce=2.0)
PAIRS = "is not at most 3 pairs: microseconds from 1 on, and a burst from 1 to 1000000"
NUMBER = "is not a whole number from 0 to 1000, -1 for no limit, or null"
TIMES = "is not two numbers of seconds above 0 (either may be null), or null"


@pytest.mark.parametrize(("wanted", "given"), [(1, 2), (2, 2), (3, 3), (10, 10), (11, 10)])
def test_a_range_bounds_what_its_strategy_wants(wanted: int, given: int) -> None:
    assert Range(2, 10, int).within(wanted) == given


@pytest.mark.parametrize(
    ("limits", "change", "expected"),
    [
        (None, LimitChange(), TaskLimits()),
        (DECLARED, LimitChange(), DECLARED),
        (DECLARED, LimitChange(paces=()), DECLARED._replace(paces=())),
        (DECLARED, LimitChange(paces=(Pace(7, 2),)), DECLARED._replace(paces=(Pace(7, 2),))),
        (DECLARED, LimitChange(concurrency=0), DECLARED._replace(concurrency=0)),
        (DECLARED, LimitChange(concurrency=-1), DECLARED._replace(concurrency=None)),
        (DECLARED, LimitChange(concurrency=-2), DECLARED._replace(concurrency=-2)),
        (None, LimitChange((Pace(1),), 9, (1.0, None)), TaskLimits((Pace(1),), concurrency=9)),
    ],
)
def test_a_change_replaces_what_was_declared(limits: TaskLimits | None, change: LimitChange, expected: TaskLimits) -> None:
    assert rule.changed(limits, change) == expected


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (LimitChange(), '{"paces": null, "concurrency": null, "time": null}'),
        (LimitChange(None, 5, None, 15), '{"paces": null, "concurrency": 5, "time": null, "most": 15}'),
        (LimitChange((), -1, (None, None)), '{"paces": [], "concurrency": -1, "time": [null, null]}'),
        (LimitChange((Pace(1),), 0, (0.5, None)), '{"paces": [[1, 1]], "concurrency": 0, "time": [0.5, null]}'),
        (
            LimitChange((Pace(2**53, 1_000_000), Pace(1), Pace(3, 4)), 1_000, (9_999_999.5, 1)),
            '{"paces": [[9007199254740992, 1000000], [1, 1], [3, 4]], "concurrency": 1000, "time": [9999999.5, 1]}',
        ),
    ],
)
def test_a_change_is_read_as_it_was_written(change: LimitChange, text: str) -> None:
    assert rule.write(change) == text
    assert rule.read(text) == change


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", True), (rule.write(LimitChange(most=15)), True), (rule.write(LimitChange((), most=15)), False), ("{", False)],
)
def test_a_change_that_only_tells_the_highest_limit_leaves_all_as_declared(text: str, expected: bool) -> None:
    assert rule.is_as_declared(text) is expected


def test_no_text_is_no_change_and_other_fields_do_not_matter() -> None:
    assert rule.read("") == LimitChange()
    assert rule.read('{"other": [[[1]]]}') == LimitChange()
    assert rule.read("{}".ljust(4_096)) == LimitChange()


@pytest.mark.parametrize(
    ("code", "text"),
    [("too-deep", '{"other": [[[[1]]]]}'), ("too-large", "{}".ljust(4_097)), ("malformed", "{"), ("schema", "[]"), ("schema", "null")],
)
def test_a_text_that_is_no_change_is_refused_as_a_whole(code: str, text: str) -> None:
    with pytest.raises(MessageRefused) as caught:
        rule.read(text)
    assert (caught.value.code, caught.value.field) == (code, "limits")
    if code == "schema":
        shown = {"[]": "[]", "null": "None"}[text]
        assert str(caught.value) == f"schema: limits: '{shown}' is not an object with paces, concurrency and time"


@pytest.mark.parametrize(
    ("field", "text", "wanted"),
    [
        *(("paces", one, PAIRS) for one in ("5", "{}", '""', "[5]", "[[1]]", "[[1, 1, 1]]", "[[1, 1.0]]", "[[true, 1]]", "[[1, true]]")),
        *(("paces", one, PAIRS) for one in ("[[0, 1]]", "[[1, 0]]", "[[9007199254740993, 1]]", "[[1, 1000001]]", "[[1, 1], [0, 1]]")),
        ("paces", "[[1, 1], [1, 1], [1, 1], [1, 1]]", PAIRS),
        *(("concurrency", one, NUMBER) for one in ("-2", "1001", "1.0", "true", '"1"', "[]")),
        *(("most", one, NUMBER) for one in ("-2", "1001", "true")),
        *(("time", one, TIMES) for one in ("5", "{}", "[]", "[1]", "[1, 2, 3]", "[0, 1]", "[1, 0]", "[-1, 1]", "[true, 1]", '["1", 1]')),
        *(("time", one, TIMES) for one in ("[10000000, 1]", "[1, 10000000.0]")),
    ],
)
def test_a_field_that_is_wrong_is_refused_with_what_it_may_be(field: str, text: str, wanted: str) -> None:
    with pytest.raises(MessageRefused) as caught:
        rule.read(f'{{"{field}": {text}}}')
    assert (caught.value.code, caught.value.field) == ("schema", f"limits.{field}")
    assert str(caught.value).endswith(wanted)


@pytest.mark.parametrize("value", [0, 1, 1_000, Range(0, 0, int), Range(1, 1_000, int, 0.1), Range(7, 7, int)])
def test_a_limit_of_concurrency_is_given_back(value: int | Range) -> None:
    assert rule.concurrency(value) is value


@pytest.mark.parametrize(
    ("value", "why"),
    [
        *((one, f"{one!r} is not a whole number from 0 (suspended) to 1000") for one in (-1, 1_001, 1.0, True, "1", None)),
        *(
            (Range(low, high, int), f"Range({low!r}, {high!r}): give whole numbers, 0 <= low <= high <= 1000")
            for low, high in [(-1, 5), (3, 2), (0, 1_001), (1.0, 2), (1, 2.0), (True, 2), (0, True), ("1", "2")]
        ),
        *((Range(1, 2, int, every), "a Range takes a function without arguments") for every in (0, -1.0, math.nan)),
        (Range(1, 2, 3), "a Range takes a function without arguments"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_limit_of_concurrency_is_refused_under_its_name(value: Any, why: str) -> None:
    with pytest.raises(OptionError) as caught:
        rule.concurrency(value, "tasks")
    assert str(caught.value).startswith(f"tasks: {why}")


@pytest.mark.parametrize(
    ("slot", "text"),
    [
        (Slot(0, 0, "5x1"), "0/0/5x1"),
        (Slot(17, 999, "5x1+6x2/a"), "17/999/5x1+6x2/a"),
        (Slot(LAST_SECOND * 1_000_000, 3, "r"), f"{LAST_SECOND}000000/3/r"),
    ],
)
def test_a_slot_is_read_as_it_was_written(slot: Slot, text: str) -> None:
    assert rule.slot_text(slot) == text
    assert rule.slot_of(text) == slot


@pytest.mark.parametrize(
    "text",
    ["", "1", "1/2", "1/2/", "/2/r", "1//r", "x/2/r", "1/x/r", "²/2/r", "1/²/r", "-1/2/r", "1/2345/r", "0000000000000000001/2/r",
     f"{LAST_SECOND}000001/3/r"],
)  # fmt: skip
def test_any_other_text_is_no_slot(text: str) -> None:
    assert rule.slot_of(text) is None


@pytest.mark.parametrize(("late", "seconds"), [(0, 2), (1, 8), (2, 32), (5, 2_048), (6, 3_600), (10, 3_600), (1_000, 3_600)])
def test_a_slot_is_kept_four_times_as_long_after_each_one_that_was_missed(late: int, seconds: int) -> None:
    assert rule.kept(Slot(5, late, "r")) == 5 + seconds * 1_000_000


def test_the_figures_of_collected_calls_are_those_that_are_described() -> None:
    assert (collection.MOST_BASKET_BYTES, collection.MOST_CALLS, collection.MOST_PARTS) == (300_000, 1_000, 1_000)


def test_a_call_is_put_into_its_basket_once_and_taken_out_as_it_was_published() -> None:
    one, two = collection.written("t1", (1, "é"), {"k": None}), collection.written("t2", [], {})
    assert (one, two) == ('["t1",[1,"é"],{"k":null}]', '["t2",[],{}]')
    assert collection.read([two, one, two.replace("[]", "[7]")]) == {"t2": two, "t1": one}
    assert Fetched({"t2": two, "t1": one}) == [two, one]
    assert Fetched({"t2": two, "t1": one}).ids == ("t2", "t1")
    assert collection.calls_of([["t1", [1, "é"], {"k": None}]]) == [Call((1, "é"), {"k": None}, "t1")]


def test_a_basket_holds_calls_that_were_added_by_an_earlier_request() -> None:
    one, two = collection.written("t1", [], {}), collection.written("t2", [], {})
    basket = collection.Basket({"t1": one, "t3": one})
    assert collection.holds(basket, [one])
    assert collection.holds(basket, [])
    assert not collection.holds(basket, [one, two])


@pytest.mark.parametrize(("now", "number", "end"), [(0.0, 0, 2.5), (2.4, 0, 2.5), (2.5, 1, 5.0), (1_001.0, 400, 1_002.5)])
def test_a_slice_ends_where_the_next_one_begins(now: float, number: int, end: float) -> None:
    assert collection.slice_of(now, 2.5) == (number, end)


def test_a_call_is_overdue_once_another_one_is_the_latest() -> None:
    assert [collection.overdue(latest, "t") for latest in (None, Latest(1, "t"), Latest(1, "u"))] == [False, False, True]
