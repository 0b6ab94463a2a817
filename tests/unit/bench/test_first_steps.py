"""What is measured about first steps: lines, files of a page, sizes; and the page that lets a reader write them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.first_steps import COMMANDS, DEPLOYMENT, TUTORIAL, lines, size, written

STATEMENTS = st.lists(st.sampled_from(["x = 1", "def f() -> int:\n    return 1", 'y = """a\nb\n"""', "z = (\n    1,\n)"]), max_size=6)
QUIET = st.lists(st.sampled_from(["", "# a comment", "   ", "    # another"]), max_size=4)


@given(st.lists(st.tuples(STATEMENTS, QUIET), max_size=4))
def test_blank_lines_and_comments_are_not_counted(parts: list[tuple[list[str], list[str]]]) -> None:
    code = "".join(f"{row}\n" for statements, quiet in parts for row in [*statements, *quiet])
    assert lines(code) == sum(len(one.splitlines()) for statements, _ in parts for one in statements)


@pytest.mark.parametrize(("code", "number"), [("", 0), ('"""A module."""\n', 1), ("x = 1  # one\n", 1), ("if x:\n\n    y = 2\n", 2)])
def test_a_line_counts_once(code: str, number: int) -> None:
    assert lines(code) == number


def test_a_file_counts_as_it_is_in_the_end() -> None:
    page = "```python\n# a.py\nx = 1\ny = 2\n```\n```python\n# add to a.py\nz = 3\n```\n```python\nprint(1)\n```\n"
    assert written(page) == {"a.py": 3}
    more = "```python\n# a.py\nx = 5\n```\n```python\n# tests/test_a.py\nassert 1\n```\n"
    assert written(page + more) == {"a.py": 1, "tests/test_a.py": 1}


def test_the_tutorial_lets_its_reader_write_an_app_and_a_test() -> None:
    assert set(written(TUTORIAL.read_text(encoding="utf-8"))) == {"shop/tasks.py", "tests/test_bonus.py"}


def test_the_size_is_that_of_the_package_and_of_what_it_brings(tmp_path: Path) -> None:
    for name, length in {
        "sedano/app.py": 5, "sedano-0.1.0.dist-info/METADATA": 7, "six.py": 3, "pip/x.py": 100, "pip-24.dist-info/METADATA": 50,
        "setuptools/y.py": 100, "distutils-precedence.pth": 9, "wheel-1.dist-info/METADATA": 5, "_distutils_hack/z.py": 4,
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a" * length)
    assert size(tmp_path) == (15, 1)


def test_two_commands_lead_to_a_task() -> None:
    assert [words[0] for words in COMMANDS] == ["new", "dev"]


def test_two_commands_lead_to_a_deployed_task_and_neither_leaves_out_the_trial() -> None:
    assert [words[0] for words in DEPLOYMENT] == ["new", "deploy"]
    assert "--no-trial" not in DEPLOYMENT[1]
