"""The page of the command line: its table of exit codes is the one in the code, and its commands exist."""

import re

from sedano import testing
from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.cli.verb_table import VERBS
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
