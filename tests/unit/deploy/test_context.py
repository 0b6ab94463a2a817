"""The constructs get the settings of a project as texts, and an option of the command line wins."""

import re
from pathlib import Path
from typing import Any

import pytest

from sedano.deploy.context import context
from sedano.errors import UsageError

APP = "shop.tasks:app"


def _context(root: Path, given: dict[str, str] | None = None, app: str | None = APP, **values: Any) -> dict[str, str]:
    return context({"stage": "prod", **values}, app, root / "src", root, given or {})


def test_values_of_toml_become_texts_as_the_command_line_has_them(tmp_path: Path) -> None:
    assert _context(tmp_path, memory=1024, own_key=True, budget=7.5, queue_concurrency={"mail": 2, "bulk": 50}, queues=["default"]) == {
        "stage": "prod", "app": APP, "code": str(tmp_path / "src"), "memory": "1024", "own_key": "true", "budget": "7.5",
        "queue_concurrency": "mail=2,bulk=50",
    }  # fmt: skip


def test_lines_of_ignored_files_are_one_text(tmp_path: Path) -> None:
    assert _context(tmp_path, ignore=["*.ipynb", "drafts/"])["ignore"] == "*.ipynb,drafts/"


def test_a_region_is_the_stages_own_only_with_its_account(tmp_path: Path) -> None:
    assert "region" not in _context(tmp_path, region="eu-central-1")
    assert _context(tmp_path, region="eu-central-1", account="123456789012")["region"] == "eu-central-1"


def test_an_option_wins_over_the_file(tmp_path: Path) -> None:
    found = _context(tmp_path, {"memory": "512", "local": "true"}, memory=1024)
    assert (found["memory"], found["local"]) == ("512", "true")


def test_pins_beside_the_project_are_taken_where_the_code_has_none(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    assert "requirements" not in _context(tmp_path)
    (tmp_path / "requirements.txt").write_text("")
    assert _context(tmp_path)["requirements"] == str(tmp_path / "requirements.txt")
    (tmp_path / "src" / "requirements.txt").write_text("")
    assert "requirements" not in _context(tmp_path)
    assert _context(tmp_path, requirements="pins/lambda.txt")["requirements"] == str(tmp_path / "pins" / "lambda.txt")


@pytest.mark.parametrize(
    ("given", "app", "values", "said"),
    [
        ({}, None, {}, "which app? Give --app module:attribute, or write app"),
        ({"stage": "test"}, APP, {}, "--set stage: use the option --stage"),
        ({}, APP, {"tags": [1]}, "tags has to be a text, a number"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(tmp_path: Path, given: dict[str, str], app: str, values: Any, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        _context(tmp_path, given, app, **values)
