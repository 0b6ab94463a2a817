"""The page of the command line: its table of exit codes is the one in the code, and its commands exist."""

import re
import tomllib

from sedano import testing
from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.cli.verb_table import VERBS
from sedano.model.settings import DEFAULTS, VARIABLES, project, resolved
from tests.docs.pages import page
from tests.stories import bakery

PAGE = page("command_line.md")
APP = "tests.stories.bakery:app"


def test_the_table_of_exit_codes_is_the_one_that_every_verb_uses() -> None:
    rows = re.findall(r"^\| (\d+) \| `([A-Z_]+)` \| (.*) \|$", PAGE.text, re.MULTILINE)
    assert rows == [(str(int(one)), one.name, one.meaning.replace("|", "\\|")) for one in Exit]


def test_the_commands_of_the_page_run() -> None:
    commands = re.findall(r"^\$ sedano (.*)$", PAGE.text, re.MULTILINE)
    assert {command.split()[0] for command in commands} <= set(VERBS)
    with testing.world(bakery.app):
        for command in commands:
            assert main(command.replace("shop.tasks:app", APP).split()) == Exit.DONE, command


def test_the_settings_of_the_page_are_taken_and_the_table_names_their_options_and_variables() -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE.text, re.DOTALL)
    found = resolved({"stage": "prod"}, {}, project(tomllib.loads(block)["tool"]["sedano"], "pyproject.toml"), "pyproject.toml")
    assert (found["app"].value, found["memory"].value, found["dev.port"].value) == ("shop.tasks:app", 1024, 8710)
    rows = re.findall(r"^\| `(\w+)` \| `--(\w+)` \| (.*?) \| (.*?) ?\|$", PAGE.text, re.MULTILINE)
    assert [name for name, _, _, _ in rows] == [*VARIABLES]
    for name, option, variables, default in rows:
        assert (option, variables) == (name, ", ".join(f"`{one}`" for one in VARIABLES[name]))
        assert DEFAULTS.get(name) is None or default == f"`{DEFAULTS[name]}`"
