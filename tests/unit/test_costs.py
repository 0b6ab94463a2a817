"""The page of what tests cost is read as it was written."""

from hypothesis import given
from hypothesis import strategies as st

from tests.plugins.costs import SHOWN_S, page, stored

FILES = st.from_regex(r"tests/[a-z_]{1,9}/test_[a-z]{1,9}\.py", fullmatch=True)


@given(st.dictionaries(FILES, st.floats(0, 5_000)))
def test_what_is_written_is_read_to_a_tenth_of_a_second(taken: dict[str, float]) -> None:
    expected = {file: round(seconds, 1) for file, seconds in taken.items() if seconds >= SHOWN_S}
    assert stored(page(taken)).keys() == expected.keys()
    assert all(abs(seconds - taken[file]) < 0.051 for file, seconds in stored(page(taken)).items())
