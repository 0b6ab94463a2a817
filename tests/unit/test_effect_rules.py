"""The rule of effects: when a write is possible, what it leaves, and which writes a run may collect."""

from typing import Any

import pytest

from sedano.engine.effects import TableWrites, collecting
from sedano.errors import OptionError, SedanoError, TooLarge
from sedano.model.canonical_json import canonical_json
from sedano.model.effects import (
    ABSENT,
    ITEM_BYTES,
    LONGEST_NUMBER,
    MOST,
    MOST_BYTES,
    TableWrite,
    applied,
    checked,
    place,
    refusal,
    size,
)

KEY = {"id": "a"}
TABLES = {"stock": ("id",), "pairs": ("id", "sort")}


def update(**parts: Any) -> TableWrite:
    """An update of the item a."""
    return TableWrite("stock", "update", KEY, **parts)


def put(item: Any, **parts: Any) -> TableWrite:
    """A put of an item."""
    return TableWrite("stock", "put", {"id": item["id"]}, item=item, **parts)


ITEM = {"id": "a", "n": 1, "list": [1, {"b": 2, "a": 1}]}


@pytest.mark.parametrize(
    ("condition", "found", "why"),
    [
        (None, None, ""), (None, ITEM, ""), (ABSENT, None, ""), (ABSENT, ITEM, "the item exists"),
        ({"x": ABSENT}, None, ""), ({"x": ABSENT}, ITEM, ""), ({"n": ABSENT}, ITEM, "n is not absent"),
        ({"n": 1}, ITEM, ""), ({"n": 1}, None, "n does not have the value of the condition"),
        ({"n": True}, ITEM, "n does not have the value of the condition"),
        ({"x": None}, ITEM, "x does not have the value of the condition"), ({"list": [1, {"a": 1, "b": 2}]}, ITEM, ""),
        ({"n": 1, "x": ABSENT, "id": "b"}, ITEM, "id does not have the value of the condition"),
    ],
)  # fmt: skip
def test_a_condition_compares_with_the_item_before(condition: Any, found: Any, why: str) -> None:
    assert refusal(update(sets={"n": 2}, condition=condition), found) == why


def test_only_a_whole_number_can_be_added_to() -> None:
    effect = update(adds={"n": 2, "new": 1})
    assert refusal(effect, None) == refusal(effect, {"id": "a", "n": 1}) == ""
    for other in ("1", True, None, [1]):
        assert refusal(effect, {"id": "a", "n": other}) == "add: n is not a number"
    assert refusal(update(adds={"n": 2}, condition={"n": 1}), ITEM) == ""


def test_a_write_leaves_the_item_that_it_describes_and_the_one_before_as_it_was() -> None:
    before = {"id": "a", "n": 1, "old": 2}
    assert applied(TableWrite("stock", "delete", KEY), before) is None
    assert applied(put({"id": "a", "x": 1}), before) == {"id": "a", "x": 1}
    effect = update(sets={"x": "y"}, adds={"n": 2, "new": -1}, removes=("old", "never"))
    assert applied(effect, before) == {"id": "a", "n": 3, "new": -1, "x": "y"}
    assert applied(effect, None) == {"id": "a", "n": 2, "new": -1, "x": "y"}
    assert before == {"id": "a", "n": 1, "old": 2}


@pytest.mark.parametrize("key", [{}, {"id": ""}, {"id": True}, {"id": None}, {"id": 1.5}, {"id": "a", "more": 1}, {"other": "a"}])
def test_a_key_has_each_of_its_names_and_no_other_and_a_text_or_a_whole_number(key: Any) -> None:
    with pytest.raises(OptionError, match=r"effects\.delete\('stock'\): the key"):
        checked(TableWrite("stock", "delete", key), ("id",))
    for right in ({"id": "a"}, {"id": 0}, {"id": -1}):
        assert checked(TableWrite("stock", "delete", right), ("id",)).key == right


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({}, "it does not change anything"), ({"sets": {"id": 1}}, "id is in the key"),
        ({"removes": ("x", "x")}, "x is in the key, or in two"),
        ({"sets": {"x": 1}, "adds": {"x": 1}}, "x is in the key, or in two"), ({"adds": {"x": True}}, "add: x must be a whole number"),
        ({"adds": {"x": "1"}}, "add: x must be a whole number"), ({"sets": {"": 1}}, "'' is not the name"),
        ({"sets": {1: 1}}, "1 is not the name"),
        ({"sets": {"x": 1.5}}, "float is not kept exactly"), ({"sets": {"x": [{"y": (1,)}]}}, "tuple is not kept exactly"),
        ({"sets": {"x": {"": 1}}}, "'' is not the name"), ({"removes": ("",)}, "'' is not the name"),
        ({"sets": {"x": 1}, "condition": {"y": 1.5}}, "float is not kept"),
        ({"sets": {"x": 1}, "condition": {"": ABSENT}}, "'' is not the name"), ({"sets": {"\ud800": 1}}, "half of a surrogate"),
        ({"sets": {"x": 10**LONGEST_NUMBER}}, "more than 38 digits"),
        ({"sets": {"x": -(10**LONGEST_NUMBER)}}, "more than 38 digits"), ({"adds": {"x": 10**LONGEST_NUMBER}}, "more than 38 digits"),
    ],
)  # fmt: skip
def test_a_change_that_a_table_does_not_keep_exactly_is_refused_with_words(parts: Any, why: str) -> None:
    with pytest.raises(OptionError, match=rf"effects\.update\('stock'\): .*{why}"):
        checked(update(**parts), ("id",))


@pytest.mark.parametrize(
    ("key", "sets", "why"),
    [({"other": "a"}, {}, "the key is id"), ({"id": "a"}, {"\ud800": 1.5}, "a string has half of a surrogate pair")],
)
def test_of_two_mistakes_that_of_the_key_or_of_the_name_is_reported_first(key: Any, sets: Any, why: str) -> None:
    with pytest.raises(OptionError, match=rf"effects\.update\('stock'\): {why}"):
        checked(TableWrite("stock", "update", key, sets=sets), ("id",))


@pytest.mark.parametrize("number", [0xD800, 0xDFFF])
def test_half_of_a_surrogate_pair_is_refused(number: int) -> None:
    with pytest.raises(OptionError, match="a string has half of a surrogate pair"):
        checked(update(sets={"x": f"a{chr(number)}"}), ("id",))


def test_what_a_table_keeps_exactly_can_be_written() -> None:
    number = 10**LONGEST_NUMBER - 1
    values = {"t": "\ud7ff\ue000ä", "n": number, "m": -number, "b": False, "none": None, "list": [1, [2, {"c": "d"}]], "empty": ""}
    for effect in (
        update(sets=values, condition={"x": ABSENT, "y": None}), update(adds={"n": number}), update(removes=("x",)),
        put({"id": "a", **values}),
        update(sets={"x": 1}, condition=ABSENT), TableWrite("stock", "delete", KEY, condition={"x": 1}),
    ):  # fmt: skip
        assert checked(effect, ("id",)) is effect


def test_the_size_of_a_write_is_that_of_all_its_parts_as_text() -> None:
    effect = update(sets={"x": "ä"}, adds={"n": 1}, removes=("r",), condition={"c": ABSENT, "d": 2})
    assert size(effect) == len('[{"id":"a"},{},{"x":"ä"},{"n":1},{"c":null,"d":2},"r"]'.encode())
    assert size(update(sets={"x": 1}, condition=ABSENT)) == size(update(sets={"x": 1}))
    assert canonical_json({"b": [1, "ä"], "a": None}) == '{"a":null,"b":[1,"ä"]}'
    assert place(update()) == ("stock", '{"id":"a"}')


@pytest.mark.parametrize("over", [0, 1])
def test_an_item_may_have_400_kilobytes(over: int) -> None:
    effect = update(sets={"x": "y" * (ITEM_BYTES - size(update(sets={"x": ""})) + over)})
    if over:
        with pytest.raises(TooLarge, match=rf"effects\.update\('stock'\): {ITEM_BYTES + 1} bytes; an item may have {ITEM_BYTES}"):
            checked(effect, ("id",))
    else:
        assert checked(effect, ("id",)) is effect
    assert (ITEM_BYTES, MOST_BYTES, MOST) == (409_600, 3_784_704, 99)


def test_a_run_collects_each_kind_of_write_as_it_was_called() -> None:
    writes = TableWrites(TABLES)
    writes.put("stock", {"id": "a", "n": 1}, condition=ABSENT)
    writes.update("pairs", {"id": "a", "sort": 1}, set={"x": 1}, add={"n": 2}, remove=["old"], condition={"x": 0})
    writes.delete("stock", {"id": "b"}, condition={"n": 0})
    assert writes.writes == [
        TableWrite("stock", "put", {"id": "a"}, item={"id": "a", "n": 1}, condition=ABSENT),
        TableWrite("pairs", "update", {"id": "a", "sort": 1}, sets={"x": 1}, adds={"n": 2}, removes=("old",), condition={"x": 0}),
        TableWrite("stock", "delete", {"id": "b"}, condition={"n": 0}),
    ]
    assert TableWrites.ABSENT is ABSENT


def test_a_write_that_is_not_possible_is_refused_at_the_call_and_not_collected() -> None:
    writes = TableWrites(TABLES)
    writes.delete("stock", KEY)
    for call in (
        lambda: writes.put("other", {"id": "a"}), lambda: writes.update("other", KEY, set={"x": 1}), lambda: writes.delete("other", KEY),
    ):  # fmt: skip
        with pytest.raises(OptionError, match=r"'other' is not a declared table \(pairs, stock\); declare it: app.table\('other', key=…\)"):
            call()
    with pytest.raises(OptionError, match=r"effects\.put\('pairs'\): the key is id, sort"):
        writes.put("pairs", {"id": "a"})
    with pytest.raises(OptionError, match=r"effects\.put\('stock'\): this run already writes \{\"id\":\"a\"\}; combine the two writes"):
        writes.put("stock", {"id": "a", "x": 1})
    with pytest.raises(OptionError, match=r"'other' is not a declared table \(none\)"):
        TableWrites({}).delete("other", KEY)
    assert len(writes.writes) == 1


def test_a_run_has_at_most_99_writes() -> None:
    writes = TableWrites(TABLES)
    for number in range(MOST):
        writes.delete("stock", {"id": number})
    with pytest.raises(OptionError, match="effects: a run may have at most 99; move the others to another task"):
        writes.delete("stock", {"id": MOST})
    assert len(writes.writes) == MOST


def test_all_writes_of_a_run_fit_into_one_transaction() -> None:
    writes = TableWrites(TABLES)
    one = {"id": 10, "x": ""}
    bare = size(TableWrite("stock", "put", {"id": 10}, item=one))
    whole, rest = divmod(MOST_BYTES, ITEM_BYTES)
    for number in range(whole):
        writes.put("stock", {"id": 10 + number, "x": "y" * (ITEM_BYTES - bare)})
    with pytest.raises(TooLarge, match=f"effects: {MOST_BYTES + 1} bytes; a run may have at most {MOST_BYTES}"):
        writes.put("stock", {"id": 90, "x": "y" * (rest - bare + 1)})
    writes.put("stock", {"id": 90, "x": "y" * (rest - bare)})
    assert len(writes.writes) == whole + 1


def test_effects_need_a_run_that_leaves_a_record() -> None:
    assert collecting(TABLES, True).writes == []
    with pytest.raises(SedanoError, match='a task with delivery="at_least_once" and ignore_result leaves no record'):
        collecting(TABLES, False)
