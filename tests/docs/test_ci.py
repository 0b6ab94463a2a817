"""The page about CI shows the file that a new project has, and commands that exist."""

import json
import re
import shlex

import pytest

from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.cli.projects import files
from tests.docs.pages import page
from tests.docs.shown_commands import shown_commands, wrong_commands

PAGE = page("ci.md")


def test_the_file_of_the_page_is_that_of_a_new_project() -> None:
    (shown,) = re.findall(r"```yaml \.github/workflows/ci\.yml\n(.*?)```", PAGE.text, re.DOTALL)
    assert shown == files("shop")[".github/workflows/ci.yml"]


def test_every_command_of_the_page_exists() -> None:
    assert wrong_commands(PAGE.text) == []
    assert [words[0] for words in shown_commands(PAGE.text)] == ["discover", "diff", "deploy", "deploy", "destroy"]


def test_the_app_is_checked_without_credentials(capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = re.findall(r"^\$ sedano (discover .*)$", PAGE.text, re.MULTILINE)
    assert main(shlex.split(line.replace("shop.tasks:app", "tests.docs.shop:app"))) == Exit.DONE
    assert "shop.tasks.add" in json.loads(capsys.readouterr().out)["tasks"]


def test_a_command_that_does_not_exist_is_found() -> None:
    assert wrong_commands("```sh\nsedano deplyo\nsedano deploy --yess\nsedano deploy --yes\n```") == [["deplyo"], ["deploy", "--yess"]]
