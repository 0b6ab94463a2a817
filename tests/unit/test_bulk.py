"""The progress of a bulk change: it adds up, is read back by its own change alone, and any other text is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.model.bulk import MOST_REASON, MOST_REASONS, SLOTS, BulkProgress, progress_of, slot, text_of

PAGES = st.lists(st.tuples(st.integers(0, 100), st.lists(st.text(max_size=9), max_size=9)), max_size=9)


@given(PAGES)
def test_a_progress_adds_up_its_pages_and_is_read_back(pages: list[tuple[int, list[str]]]) -> None:
    total = sum(changed + len(left) for changed, left in pages)
    found = BulkProgress("a", total)
    for changed, left in pages:
        found = found.after(changed + len(left), changed, left)
    assert (found.done, found.changed, found.left) == (total, sum(n for n, _ in pages), sum(len(left) for _, left in pages))
    assert found.reasons == tuple([one for _, left in pages for one in left][:MOST_REASONS])
    assert progress_of(text_of(found), "a") == found


def test_a_reason_is_short_and_the_sentence_says_how_far_it_is() -> None:
    found = BulkProgress("a", 1_200).after(100, 99, ["x" * 9_999])
    assert len(found.reasons[0]) == MOST_REASON
    assert found.sentence == "100 of 1,200 tasks are done: 99 changed, 1 unchanged."


@pytest.mark.parametrize("text", ["", "[]", "{}", '["b",1,0,0,0,[],false]', '["a",1,2,2,0,[],false]', '["a",1,1,0,0,[],false]',
    '["a",1,0,-1,1,[],false]', '["a",true,0,0,0,[],false]', '["a",1,0,0,0,[1],false]', '["a",1,0,0,0,1,false]', "["])  # fmt: skip
def test_a_text_of_another_change_or_hand_is_none(text: str) -> None:
    assert progress_of(text, "a") is None


@given(st.text())
def test_a_change_has_one_of_so_many_slots(change_id: str) -> None:
    assert 0 <= int(slot(change_id)) < SLOTS
    assert slot(change_id) == slot(change_id)
