"""The check reads any file without running it, and reports what it cannot read."""

import ast
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sedano.migration.report import joined, read
from sedano.migration.source_files import MOST_BYTES, module_of
from tests.unit.migration.sources import report
from tests.unit.migration.test_rules import USES

USED = "from celery import shared_task\n"


def test_code_is_not_run(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    code = f"open({str(ran)!r}, 'w')\nraise SystemExit(3)\n"
    found = report(tmp_path, {"tasks.py": USED + code, "conftest.py": code, "__init__.py": code})
    assert found.counts() == {"change": 1}
    assert not ran.exists()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"from celery import x\ndef f(:\n", "2:7 not checked: not valid in this Python: invalid syntax"),
        (b"x = 'celery\n", "1:5 not checked: not valid in this Python: unterminated string literal (detected at line 1)"),
        (b"# celery\nx = '\xff'\n", None),
        (b"# celery \x00\n", None),
        (b"# celery\n" + b"(" * 400 + b")" * 400, None),
        (b"# celery\nx = " + b"-" * 200_000 + b"1\n", None),
        (b"# celery\nx = a" + b".b" * 100_000 + b"\n", None),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_parsed_is_reported_and_the_others_are_checked(text: bytes, reason: str | None, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_bytes(text)
    (tmp_path / "good.py").write_text(USED)
    found = joined(read(tmp_path))
    (bad,) = (one for one in found.found if one.path.endswith("bad.py"))
    assert bad.verdict == "unreadable"
    assert reason is None or f"{bad.line}:{bad.column} {bad.found}" == reason
    assert (found.files, found.counts()) == (2, {"unreadable": 1, "change": 1})


def test_files_that_are_none_are_reported(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "lost.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "long.py").write_bytes(b"#" * (MOST_BYTES + 1))
    found = [(Path(one.path).name, one.found) for one in joined(read(tmp_path)).found]
    assert found == [
        ("long.py", "not checked: longer than 4000000 bytes"),
        ("lost.py", "not checked: No such file or directory"),
        ("pipe.py", "not checked: not a regular file"),
    ]


def test_packages_of_others_and_excluded_files_are_left_out(tmp_path: Path) -> None:
    names = [f"{folder}/a.py" for folder in (".venv/lib", "node_modules", "shop/migrations", "shop/old", "shop/tests", "tests", "shop")]
    for name in (*names, "shop/skip_a.py", "shop/a.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(USED)

    def paths(*exclude: str) -> list[str]:
        return [Path(one.path).relative_to(tmp_path).as_posix() for one in joined(read(tmp_path, exclude)).found]

    assert paths() == ["shop/a.py", "shop/old/a.py", "shop/skip_a.py", "shop/tests/a.py", "tests/a.py"]
    assert paths("tests", "shop/old/", "skip_*") == ["shop/a.py"]
    assert paths("./tests", "./shop/old", f"{tmp_path}/shop/tests", f"{tmp_path}/shop/skip_a.py") == ["shop/a.py"]


def test_one_file_is_checked_and_its_module_is_that_of_its_packages(tmp_path: Path) -> None:
    (tmp_path / "shop/api").mkdir(parents=True)
    for name in ("shop/__init__.py", "shop/api/__init__.py", "shop/api/tasks.py"):
        (tmp_path / name).write_text(USED)
    assert [one.path for one in joined(read(tmp_path / "shop/api/tasks.py")).found] == [f"{tmp_path}/shop/api/tasks.py"]
    assert module_of(tmp_path / "shop/api/tasks.py") == ("shop.api.tasks", False)
    assert module_of(tmp_path / "shop/api/__init__.py") == ("shop.api", True)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_file_ends_the_check(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "a.py").write_bytes(b"# celery\n" + text)
    joined(read(tmp_path))


def test_a_long_chain_of_calls_costs_no_more_than_its_square(tmp_path: Path) -> None:
    """A call that evaluated its receiver twice would double the work with each of the 150 calls."""
    (tmp_path / "a.py").write_text(f"{USED}rows = Row.objects{'.filter(a=1)' * 150}\nwork = (add{'.s(1)' * 150}).delay()\n")
    assert joined(read(tmp_path)).counts() == {"change": 1}


def pieces() -> list[str]:
    """Return the statements of all examples."""
    found = []
    for text, _ in USES.values():
        lines = text.split("\n")
        margin = min(len(one) - len(one.lstrip()) for one in lines if one.strip())
        found += [ast.unparse(one) for one in ast.parse("\n".join(one[margin:] for one in lines)).body]
    return found


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(pieces()), max_size=12))
def test_any_order_of_statements_is_checked_and_every_place_is_in_the_file(tmp_path: Path, statements: list[str]) -> None:
    text = "\n".join(statements)
    (tmp_path / "a.py").write_text(f"# celery\n{text}\n")
    lines = (tmp_path / "a.py").read_text().split("\n")
    for one in joined(read(tmp_path)).found:
        assert one.verdict != "unreadable"
        assert 1 <= one.column <= len(lines[one.line - 1].encode())
