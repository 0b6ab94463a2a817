"""The types that users see: what `delay` takes, what `get` returns, and that a wrong call is an error before it runs (PEP 561, 612)."""

from pathlib import Path

from mypy import api

ROOT = Path(__file__).parents[2]


def test_a_type_checker_knows_what_tasks_take_and_return_and_refuses_wrong_calls():
    said, failed, status = api.run(["--config-file", str(ROOT / "pyproject.toml"), str(Path(__file__).with_name("typed_shop.py"))])
    assert (said, failed, status) == ("Success: no issues found in 1 source file\n", "", 0)


def test_the_library_says_that_it_is_typed():
    assert (ROOT / "layers" / "sedano" / "python" / "sedano" / "py.typed").is_file()
