"""The page of what tests cost is read as it was written."""

from hypothesis import given
from hypothesis import strategies as st

from tests.plugins.costs import PAGE, QUICK_S, SHOWN_S, WALLS, is_quick, page, renewed, stored

FILES = st.from_regex(r"tests/[a-z_]{1,9}/test_[a-z]{1,9}\.py", fullmatch=True)


@given(st.dictionaries(FILES, st.floats(0, 5_000)))
def test_what_is_written_is_read_to_a_tenth_of_a_second(taken: dict[str, float]) -> None:
    expected = {file: round(seconds, 1) for file, seconds in taken.items() if seconds >= SHOWN_S}
    assert stored(page(taken)).keys() == expected.keys()
    assert all(abs(seconds - taken[file]) < 0.051 for file, seconds in stored(page(taken)).items())


def test_rows_of_files_that_were_not_run_stay_unless_the_file_is_gone() -> None:
    run, other = "tests/unit/test_costs.py", "tests/unit/test_codec_cost.py"
    before = page({run: 5.0, other: 4.0, "tests/unit/test_gone.py": 9.0})
    assert stored(renewed(before, {run: 2.0})) == {other: 4.0, run: 2.0}


def test_a_file_that_has_become_cheap_leaves_the_page() -> None:
    assert stored(renewed(page({"tests/unit/test_costs.py": 5.0}), {"tests/unit/test_costs.py": 0.2})) == {}


def test_a_quick_run_has_the_walls_and_what_is_cheap_and_nothing_else() -> None:
    kept = {"tests/house/test_hangs.py": QUICK_S + 0.1, "tests/unit/test_cheap.py": QUICK_S, **dict.fromkeys(WALLS, 60.0)}
    quick = [file for file in (*kept, "tests/unit/test_new.py") if is_quick(f"{file}::test_it[a::b]", kept)]
    assert quick == ["tests/unit/test_cheap.py", *WALLS, "tests/unit/test_new.py"]


def test_the_walls_exist() -> None:
    assert [wall for wall in WALLS if not (PAGE.parents[1] / wall).is_file()] == []
