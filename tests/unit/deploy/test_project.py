"""The settings of a deployment are found in one order, and a mistake in a file is said with the file's name."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sedano.deploy.project import context, project, stage_of
from sedano.errors import UsageError

SAID = """
[tool.sedano]
app = "shop.tasks:app"
dev = {port = 8710}

[tool.sedano.stage.prod]
region = "eu-central-1"
memory = 1024
own_key = true
queue_concurrency = {mail = 2, bulk = 50}
"""


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A project with its modules in `src`; the working directory is a folder in it."""
    (tmp_path / "pyproject.toml").write_text(SAID)
    (tmp_path / "src" / "shop").mkdir(parents=True)
    before = Path.cwd()
    os.chdir(tmp_path / "src")
    yield tmp_path
    os.chdir(before)


def test_the_project_is_the_nearest_folder_upwards_that_says_so(root: Path) -> None:
    (root / "src" / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    assert project(root / "src" / "shop").root == root


def test_a_folder_without_a_project_is_one_itself(tmp_path: Path) -> None:
    assert project(tmp_path) == (tmp_path, {})


def test_values_of_toml_become_settings_as_the_command_line_has_them(root: Path) -> None:
    assert context(project(root), "prod", {}, {}) == {
        "stage": "prod", "app": "shop.tasks:app", "code": str(root / "src"), "region": "eu-central-1", "memory": "1024",
        "own_key": "true", "queue_concurrency": "mail=2,bulk=50",
    }  # fmt: skip


def test_another_stage_has_none_of_them(root: Path) -> None:
    assert context(project(root), "dev", {}, {}) == {"stage": "dev", "app": "shop.tasks:app", "code": str(root / "src")}


def test_an_option_wins_over_the_environment_and_that_over_the_file(root: Path) -> None:
    environment = {"SEDANO_APP": "shop.other:app"}
    assert context(project(root), "prod", {}, environment)["app"] == "shop.other:app"
    given = {"app": "shop.third:app", "memory": "512", "code": "shop"}
    found = context(project(root), "prod", given, environment)
    assert (found["app"], found["memory"], found["code"]) == ("shop.third:app", "512", str(root / "src" / "shop"))


def test_pins_beside_the_project_are_taken_where_the_code_has_none(root: Path) -> None:
    (root / "requirements.txt").write_text("")
    assert context(project(root), "dev", {}, {})["requirements"] == str(root / "requirements.txt")
    (root / "src" / "requirements.txt").write_text("")
    assert "requirements" not in context(project(root), "dev", {}, {})


def test_modules_beside_the_project_file_need_no_setting(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("")
    (tmp_path / "src").mkdir()
    assert context(project(tmp_path), "dev", {"app": "shop:app"}, {})["code"] == str(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.sedano", "pyproject.toml: "),
        ("[tool]\nsedano = 1", "tool.sedano has to be a table"),
        ('[tool.sedano]\napp = "a:b"\n[tool.sedano.stage]\ndev = 1', "tool.sedano.stage.dev has to be a table"),
        ('[tool.sedano]\napp = "a:b"\n[tool.sedano.stage.dev]\ntags = [1]', "tags has to be a text, a number"),
        ("[tool.sedano]", "which app? Give --app module:attribute, or write app"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_by_name(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(UsageError, match=re.escape(said)):
        context(project(tmp_path), "dev", {}, {})


def test_the_stage_is_dev_unless_it_is_named() -> None:
    assert [stage_of("", {}), stage_of("", {"SEDANO_STAGE": "test"}), stage_of("prod", {"SEDANO_STAGE": "test"})] == ["dev", "test", "prod"]
