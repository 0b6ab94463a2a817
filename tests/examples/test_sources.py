"""The choice of files is the same every time, holds small and large ones, and says what is wrong with a directory."""

from pathlib import Path

import pytest

from examples.census.sources import LARGE, MOST_BYTES, SourcesError, choose, site_packages


def fill(directory: Path, sizes: list[int]) -> None:
    """Put a Python file of each size into *directory*."""
    for number, size in enumerate(sizes):
        (directory / f"f{number:03}.py").write_text("#" * size)


def test_the_installed_packages_hold_enough_for_the_default_census() -> None:
    chosen = choose(site_packages(), 300)
    assert len({file.path for file in chosen}) == 300
    assert sum(file.size > LARGE for file in chosen) == 30


def test_the_choice_is_the_same_every_time_and_spread_over_the_directory(tmp_path: Path) -> None:
    fill(tmp_path, [10] * 90 + [LARGE + 1] * 10)
    chosen = [file.path for file in choose(tmp_path, 20)]
    assert chosen == [file.path for file in choose(tmp_path, 20)]
    assert chosen == sorted([*(f"f{n * 5:03}.py" for n in range(18)), "f090.py", "f095.py"])


def test_a_directory_of_large_files_alone_is_counted_too(tmp_path: Path) -> None:
    fill(tmp_path, [LARGE + 1] * 5)
    assert len(choose(tmp_path, 5)) == 5


def test_files_too_large_for_a_local_function_are_left_out(tmp_path: Path) -> None:
    fill(tmp_path, [MOST_BYTES, MOST_BYTES + 1])
    assert [file.path for file in choose(tmp_path, 1)] == ["f000.py"]


def test_a_file_that_is_not_utf8_is_chosen_with_its_trouble(tmp_path: Path) -> None:
    (tmp_path / "latin.py").write_bytes(b"x = '\xe9'")
    assert choose(tmp_path, 1)[0].trouble == "is not UTF-8: byte 0xe9 at 5"


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "marked.py").write_bytes(b"\xef\xbb\xbfx = 1\n")
    assert choose(tmp_path, 1)[0].text == "x = 1\n"


@pytest.mark.parametrize(
    ("count", "complaint"), [(0, "--files 0: expected at least 1"), (3, r"2 Python files .*, but 3 are needed; name a larger directory")]
)
def test_too_few_files_are_an_error_that_says_what_to_do(tmp_path: Path, count: int, complaint: str) -> None:
    fill(tmp_path, [1, 1])
    with pytest.raises(SourcesError, match=complaint):
        choose(tmp_path, count)


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourcesError, match=r"--sources .*nowhere: the directory does not exist"):
        choose(tmp_path / "nowhere", 1)
