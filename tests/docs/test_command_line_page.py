"""The page of the command line: its table of exit codes is the one in the code, and its commands exist."""

import re
import shlex
import tomllib

import pytest

from sedano import testing
from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.cli.verb_table import VERBS
from sedano.model.settings import DEFAULTS, VARIABLES, project, resolved
from tests.docs import shop
from tests.docs.pages import page
from tests.docs.shown_commands import wrong_commands

PAGE = page("command_line.md")


def test_the_table_of_exit_codes_is_the_one_that_every_verb_uses() -> None:
    rows = re.findall(r"^\| (\d+) \| `([A-Z_]+)` \| (.*) \|$", PAGE.text, re.MULTILINE)
    assert rows == [(str(int(one)), one.name, one.meaning.replace("|", "\\|")) for one in Exit]


def test_the_commands_of_the_page_run_and_print_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```console\n(.*?)```", PAGE.text, re.DOTALL)
    with testing.world(shop.app) as world:
        for command, shown in re.findall(r"^\$ sedano (.*)\n((?:[^$\n].*\n)*)", "".join(blocks), re.MULTILINE):
            verb, *rest = shlex.split(command.replace("--app shop.tasks:app", ""))
            assert verb in VERBS
            of_app = [] if verb in ("config", "completion", "version") else ["--app", "tests.docs.shop:app"]
            assert main([verb, *of_app, *rest]) == Exit.DONE, command
            assert shown in ("", capsys.readouterr().out), command
            world.drain()


def test_the_page_names_every_verb() -> None:
    assert [verb for verb in VERBS if not re.search(rf"(?:`|sedano ){re.escape(verb)}\b", PAGE.text)] == []


def test_the_options_of_the_commands_that_are_not_run_here_exist() -> None:
    assert wrong_commands("".join(re.findall(r"```sh\n.*?```", PAGE.text, re.DOTALL))) == []


def test_the_settings_of_the_page_are_taken_and_the_table_names_their_options_and_variables() -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE.text, re.DOTALL)
    found = resolved({"stage": "prod"}, {}, project(tomllib.loads(block)["tool"]["sedano"], "pyproject.toml"), "pyproject.toml")
    assert (found["app"].value, found["memory"].value, found["dev.port"].value) == ("shop.tasks:app", 1024, 8710)
    rows = re.findall(r"^\| `(\w+)` \| `--(\w+)` \| (.*?) \| (.*?) ?\|$", PAGE.text, re.MULTILINE)
    assert [name for name, _, _, _ in rows] == [*VARIABLES]
    for name, option, variables, default in rows:
        assert (option, variables) == (name, ", ".join(f"`{one}`" for one in VARIABLES[name]))
        assert DEFAULTS.get(name) is None or default == f"`{DEFAULTS[name]}`"
