"""The state of a poll and the page of a source: exact ids, marks and texts; and nothing that is not a page."""

import hashlib
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import ArgumentError, MessageRefused
from sedano.model.messages.lineage import derived_id
from sedano.model.sources.polls import (
    MARK,
    MOST_CURSOR_BYTES,
    MOST_ITEM_BYTES,
    MOST_ITEMS,
    MOST_MARKS,
    Item,
    Polled,
    PolledPage,
    PollState,
    call_id,
    field_identity,
    item_of,
    mark_of,
    page_of,
    read_back,
    state_of,
    text_of,
    written,
)

STATE = PollState(cursor={"at": "7", "etag": '"a"'}, seen=mark_of("id/1"), at=5.5, published=3, by="t-1", until=9.0, wait=2.0)
TEXT = (
    '{"v":1,"cursor":{"at":"7","etag":"\\"a\\""},"seen":"qQdfk-dZB0x8","at":5.5,"published":3,"by":"t-1","until":9.0,"wait":2.0}'
)  # fmt: skip
BY_ID = field_identity("id")
AS_DICT: Any = {}


def test_the_text_of_a_state_is_exact_and_read_back() -> None:
    assert text_of(STATE) == TEXT
    assert state_of(TEXT) == STATE
    assert state_of("") == PollState(cursor=None, seen="", at=0.0, published=0, by="", until=0.0, wait=0.0)


@pytest.mark.parametrize(
    "change",
    [
        {"v": 2}, {"seen": 1}, {"seen": "short"}, {"by": None}, {"published": True}, {"published": 1.0}, {"at": "1"}, {"until": None},
        {"wait": "x"},
    ],
)
def test_a_text_that_is_not_a_state_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(MessageRefused, match="schema: memo: not the state of a poll") as refused:
        state_of(json.dumps({**json.loads(TEXT), **change}))
    assert (refused.value.code, refused.value.field) == ("schema", "memo")


@pytest.mark.parametrize("text", ["[]", "1", "{}", "null", '{"v":1}', "{", '{"v":1,"v":1}'])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(MessageRefused):
        state_of(text)


def test_a_page_is_held_by_another_until_its_time_and_never_by_its_own_holder() -> None:
    assert STATE.is_held("t-2", 8.9)
    assert not STATE.is_held("t-2", 9.0)
    assert not STATE.is_held("t-1", 8.9)
    assert not PollState(until=9.0).is_held("t-2", 8.9)


def test_the_changes_of_a_state_are_exact() -> None:
    assert STATE.claimed("t-3", 20.0) == STATE._replace(by="t-3", until=20.0)
    assert STATE.put_off(30.0) == STATE._replace(wait=30.0)
    page = PolledPage((Item(1, "id/1"), Item(2, "id/2")), "marks", "next", more=False)
    assert STATE.moved(page, 40.0) == PollState(cursor="next", seen="marks", at=40.0, published=5)
    assert STATE.moved(page, 40.0, 1) == PollState(cursor="next", seen="marks", at=40.0, published=4)
    assert STATE.released() == STATE._replace(by="", until=0.0)
    part = STATE.let_out(page.items, 40.0, 1)
    assert part == STATE._replace(seen=mark_of("id/1") + mark_of("id/1") + mark_of("id/2"), at=40.0, published=4)
    assert len(STATE.let_out([Item(0, "id/0")] * MOST_MARKS, 40.0, 0).seen) == MOST_MARKS * MARK
    empty = PolledPage((), "", "next", more=False)
    assert STATE.moved(empty, 40.0) == PollState(cursor="next", seen=STATE.seen, at=5.5, published=3)


def test_the_id_of_an_item_is_its_key_or_the_digest_of_its_content() -> None:
    assert item_of({"id": 7}, BY_ID) == Item({"id": 7}, "id/7")
    assert item_of({"id": "7"}, BY_ID) == Item({"id": "7"}, "id/7")
    one, same = item_of({"a": 1, "b": 2}, None), item_of({"b": 2, "a": 1}, None)
    assert one.id == same.id == "body/43258cff783fe7036d8a43033f830adfc60ec037382473548ac742b888292777"
    assert item_of((1, 2), None).value == [1, 2]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, "the identity cannot be read: KeyError: 'id'"), ({"id": ""}, "the identity is '', not a text or a whole number"),
        ({"id": None}, "the identity is None, not a text or a whole number"),
        ({"id": True}, "the identity is True, not a text or a whole number"),
        ({"id": 1.5}, "the identity is 1.5, not a text or a whole number"),
        (5, "the identity cannot be read: TypeError: 'int' object is not subscriptable"),
    ],
)  # fmt: skip
def test_an_item_without_a_valid_key_is_known_by_its_content_with_the_reason(value: Any, words: str) -> None:
    item = item_of(value, BY_ID)
    assert item.wrong == words
    assert item.id == item_of(value, None).id
    assert item_of(value, lambda _: "\ud800").wrong.startswith("the identity cannot be read: UnicodeEncodeError")


def test_the_ids_of_calls_and_the_marks_are_exact() -> None:
    assert call_id("orders", "shop.ordered", "id/7") == derived_id("poll/orders/shop.ordered", "id/7")
    assert call_id("orders", "shop.ordered", "id/7") == "d7cabda8-09f3-5a8b-ad3b-85447df56fbf"
    assert mark_of("id/1") == "qQdfk-dZB0x8"
    assert len(mark_of("é")) == MARK


def test_a_page_has_the_new_items_in_their_order_and_the_marks_of_all() -> None:
    polled = Polled([{"id": 1}, {"id": 2}, {"id": 2}, {"id": 3}], "next", True)
    page = page_of(STATE, polled, BY_ID)
    assert [item.id for item in page.items] == ["id/2", "id/3"]
    assert page.seen == mark_of("id/1") + mark_of("id/2") + mark_of("id/3")
    assert (page.cursor, page.more) == ("next", True)


def test_a_next_page_is_read_at_once_only_where_the_cursor_moved() -> None:
    assert not page_of(PollState(cursor="a"), Polled([1], "a", True), None).more
    assert not page_of(PollState(cursor="a"), Polled([1], "b", False), None).more
    assert page_of(PollState(cursor="a"), Polled([1], "b", True), None).more


@pytest.mark.parametrize(
    ("polled", "words"),
    [
        (5, r"return: a source returns Polled\(items, cursor\) or None, not a int"), ([], "not a list"),
        (Polled("text"), "items: expected a list of items, got a str"), (Polled(AS_DICT), "got a dict"),
        (Polled([0] * (MOST_ITEMS + 1)), "items: 5001 are more than 5000; return a shorter page, its cursor, and more=True"),
        (Polled([], "x" * MOST_CURSOR_BYTES), "cursor: "), (Polled([], float("nan")), "cursor: "),
        (Polled([], {1, 2}), "cursor: is not JSON"),
        (Polled([], [[[[[[[[[1]]]]]]]]]), "cursor: more than 8 containers"),
    ],
)  # fmt: skip
def test_what_is_not_a_page_is_refused_with_what_to_return(polled: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        page_of(PollState(), polled, None)


class Unreadable:
    """An item whose text cannot be read."""

    def __repr__(self) -> str:
        """Fail."""
        raise ValueError("no text")


def test_an_item_that_is_not_json_is_refused_alone_and_known_by_its_text() -> None:
    items = [{"id": 1}, {"id": 2, "total": Decimal("3.5")}, object(), Unreadable(), "\ud800"]
    page = page_of(PollState(), Polled(items), None)
    texts = ["{'id': 2, 'total': Decimal('3.5')}", "<object object>", "a Unreadable whose text cannot be read: ValueError", "'\\ud800'"]
    assert [item.text for item in page.items] == ["", *(f"not JSON: {text}" for text in texts)]
    assert [written(item) for item in page.items[1:]] == [item.text for item in page.items[1:]]
    assert page.items[1].wrong == "items[1] is not JSON: Object of type Decimal is not JSON serializable"
    assert page.items[1].id == f"text/{hashlib.sha256(page.items[1].text.encode()).hexdigest()}"
    again = page_of(PollState().moved(page, 1.0), Polled([*items[:2], object(), *items[3:]]), None)
    assert again.items == (), "a repetition is known"
    long = page_of(PollState(), Polled(["x" * (MOST_ITEM_BYTES + 1)]), None).items[0]
    assert (len(long.text), long.wrong) == (MOST_ITEM_BYTES + len("not JSON: "), f"items[0] more than {MOST_ITEM_BYTES} bytes")


def test_the_most_items_and_the_largest_cursor_are_allowed() -> None:
    page = page_of(PollState(), Polled([*range(MOST_ITEMS)], "x" * (MOST_CURSOR_BYTES - 2)), None)
    assert (len(page.items), len(page.seen)) == (MOST_ITEMS, MOST_ITEMS * MARK)
    assert page_of(PollState(), Polled([], [[[[[[[[1]]]]]]]]), None).cursor == [[[[[[[[1]]]]]]]]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
VALUES = st.recursive(st.none() | st.booleans() | st.integers() | TEXTS, st.lists, max_leaves=5)


@given(st.lists(VALUES, max_size=8), st.lists(VALUES, max_size=8))
def test_over_two_pages_no_item_is_left_out_and_none_of_the_last_page_comes_again(first: list[Any], second: list[Any]) -> None:
    page = page_of(PollState(), Polled(first), None)
    after = state_of(text_of(PollState().moved(page, 1.0)))
    again = page_of(after, Polled(second), None)
    ids = {item_of(value, None).id for value in first}
    assert {item.id for item in page.items} == ids
    assert {item.id for item in again.items} == {item_of(value, None).id for value in second} - ids
    assert all(read_back(written(item)) == item.value for item in page.items)
