"""The page about `sedano web` names every page and key, and its commands exist."""

import re

import pytest

from sedano.cli import main
from sedano.cli.verb_table import VERBS
from sedano.views.browser import FIRST_S, KEYS, MOST_S
from sedano.views.screens import SCREENS
from sedano.web.frame import MOTION
from sedano.web.respond import asset
from tests.docs.pages import page
from tests.docs.shown_commands import shown_commands, wrong_commands

PAGE = page("web.md")


def test_the_page_lists_every_page_of_the_browser() -> None:
    rows = re.findall(r"^\| (\w+) \| .*\? .*\|$|^\| (\w+) \| .*\?.*\|$", PAGE.text, re.MULTILINE)
    assert sorted((one or other).lower() for one, other in rows) == sorted(SCREENS)


def test_the_page_names_the_keys_that_the_pages_have() -> None:
    keys = {key for words in MOTION for key in words.split(", ")}
    assert {f"`{key}`" for key in keys} <= set(re.findall(r"`[^`\n]+`", PAGE.text.split("## Keys")[1]))
    assert dict(re.findall(r"`g (\w)` to the (\w+)", PAGE.text)).items() <= KEYS.items()


def test_the_commands_of_the_page_are_options_of_the_verb() -> None:
    assert wrong_commands(PAGE.text) == []
    assert {words[0] for words in shown_commands(PAGE.text)} == {"web"}
    assert "web" in VERBS


def test_the_script_reads_as_often_as_the_page_says() -> None:
    script = asset("app.js").decode()
    assert (f"FIRST = {FIRST_S * 1_000:.0f}", f"MOST = {MOST_S * 1_000:.0f}") == tuple(re.findall(r"\b(?:FIRST|MOST) = \d+", script))


def test_an_idle_hour_costs_what_its_reads_cost() -> None:
    words = " ".join(PAGE.text.split())
    times, light, heavy = re.findall(r"reads (\d+) times an hour: \$([\d.]+) for Throughput, \$([\d.]+) for Now", words)[0]
    prices = re.findall(r"CPU in Python and\s+\$([\d.]+) a million views on AWS.*about \$(\d+)\.", PAGE.text, re.DOTALL)[0]
    assert float(times) == 3_600 / MOST_S
    costs = [float(times) * float(price) / 1e6 for price in prices]
    assert (round(costs[0], 4), round(costs[1], 2)) == (float(light), float(heavy))


def test_the_help_says_that_the_pages_only_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["web", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "only read" in said
    assert "first line on stdout is the address" in said
