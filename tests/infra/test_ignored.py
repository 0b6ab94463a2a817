"""Tests beside an application are not deployed with it, nor what `.sedanoignore` names; what the application imports is."""

from pathlib import Path

import pytest

from infra.application import application
from infra.config import ConfigError, StageConfig
from infra.context import from_context
from infra.ignored import Ignored

TREE = (
    "shop/__init__.py", "shop/tasks.py", "shop/prices.csv", "shop/old.csv", "shop/tests/test_tasks.py", "tests/test_all.py",
    "tests/data/a.json", "conftest.py", "test_shop.py", "shop/shop_test.py", "notebooks/a.ipynb", "shop/drafts.py", "drafts.py",
    "contest.py",
)  # fmt: skip
SOURCE = "from sedano import Sedano\n\napp = Sedano('shop')\n"


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """An application with its tests beside it, as `pytest` finds them."""
    for name in TREE:
        (tmp_path / "code" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "code" / name).write_text(SOURCE if name.endswith("tasks.py") else "")
    return tmp_path / "code"


def _deployed(code: Path, target: Path) -> set[str]:
    application("shop.tasks:app", code, StageConfig()).copy(target)
    return {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}


def test_tests_beside_an_application_are_not_deployed(code: Path, tmp_path: Path) -> None:
    assert _deployed(code, tmp_path / "target") == {
        "shop/__init__.py", "shop/tasks.py", "shop/prices.csv", "shop/old.csv", "notebooks/a.ipynb", "shop/drafts.py", "drafts.py",
        "contest.py",
    }  # fmt: skip


def test_what_sedanoignore_names_is_not_deployed(code: Path, tmp_path: Path) -> None:
    (code / ".sedanoignore").write_text("# data\n*.csv\n!prices.csv\nnotebooks/\n/drafts.py\n!conftest.py\n")
    assert _deployed(code, tmp_path / "target") == {
        "shop/__init__.py", "shop/tasks.py", "shop/prices.csv", "shop/drafts.py", "contest.py", "conftest.py",
    }  # fmt: skip


def test_a_line_of_the_projects_settings_holds_until_the_file_says_otherwise(code: Path, tmp_path: Path) -> None:
    ignore = from_context({"app": "shop.tasks:app", "code": str(code), "stage": "dev", "ignore": "*.csv, notebooks/"}).ignore
    (code / ".sedanoignore").write_text("!prices.csv\n")
    application("shop.tasks:app", code, StageConfig(), ignore=ignore).copy(tmp_path / "target")
    found = {path.relative_to(tmp_path / "target").as_posix() for path in (tmp_path / "target").rglob("*") if path.is_file()}
    assert found == {"shop/__init__.py", "shop/tasks.py", "shop/prices.csv", "shop/drafts.py", "drafts.py", "contest.py"}


def test_a_changed_test_publishes_nothing_anew(code: Path) -> None:
    before = application("shop.tasks:app", code, StageConfig()).content
    (code / "tests" / "test_all.py").write_text("changed")
    assert application("shop.tasks:app", code, StageConfig()).content == before


def test_what_the_application_imports_is_not_left_out_without_a_word(code: Path) -> None:
    (code / "shop" / "tasks.py").write_text(f"import tests.prices\n{SOURCE}")
    (code / "tests" / "prices.py").write_text("TEA = 3\n")
    with pytest.raises(ConfigError, match=r"tests/prices\.py' cannot be used; .* deployed.*`!tests/` in \.sedanoignore includes it"):
        application("shop.tasks:app", code, StageConfig())
    (code / ".sedanoignore").write_text("!tests/\n")
    assert application("shop.tasks:app", code, StageConfig()).declared.queues == ("default",)


@pytest.mark.parametrize(
    ("lines", "path", "out"),
    [
        (["data/"], "data", False), (["data/"], "data/a.csv", True), (["data/"], "shop/data/a.csv", True),
        (["/data/"], "shop/data/a.csv", False), (["*.csv"], "a/b/c.csv", True), (["*.csv", "!c.csv"], "a/b/c.csv", False),
        (["!c.csv", "*.csv"], "a/b/c.csv", True),
        (["shop/*.csv"], "shop/c.csv", True), (["", "  ", "# *.csv"], "c.csv", False), (["[ab].csv"], "a.csv", True),
    ],
)  # fmt: skip
def test_lines_mean_what_they_mean_in_gitignore(lines: list[str], path: str, out: bool) -> None:
    assert (Ignored(lines).reason(path) is not None) is out
