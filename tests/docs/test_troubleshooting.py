"""Each text of the page about errors is in the code, its commands exist, and its block runs."""

import re
from functools import cache
from typing import Any

import pytest

from sedano.model import states
from tests.docs.pages import DOCS, page
from tests.docs.shown_commands import wrong_commands

PAGE = page("troubleshooting.md")
ROOT = DOCS.parent
TEXTS = re.findall(r"^\| `([^`]+)`", PAGE.text, re.MULTILINE)
EXAMPLES = {"SEDANO_EVENTS_QUEUE": "", "expected int, got str": "expected ", "paused: …": "paused: "}
"""What a text of the page has of a call, and what the code has in its place."""


@cache
def code() -> str:
    """Return the code of the library and the constructs, with texts that are written in several parts as one."""
    places = (ROOT / "layers/sedano/python/sedano", ROOT / "infra")
    whole = "\n".join(path.read_text(encoding="utf-8") for place in places for path in sorted(place.rglob("*.py")))
    return re.sub(r"[\"']\s*\n\s*f?[\"']", "", whole)


def parts(text: str) -> list[str]:
    """Return what a text of the page has of the code: the words between names and numbers."""
    for call, instead in EXAMPLES.items():
        text = text.replace(call, instead)
    return [part.strip() for part in re.split("…", text) if part.strip(" ,;")]


def missing(text: str) -> list[str]:
    """Return the words of *text* that the code does not have."""
    return [] if text in states.TERMINAL or text == states.PENDING else [part for part in parts(text) if part not in code()]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_of_the_page_is_one_of_the_code(text: str) -> None:
    assert parts(text)
    assert missing(text) == []


def test_a_text_that_the_code_does_not_have_is_found() -> None:
    assert missing("the queue is on holiday until …") == ["the queue is on holiday until"]


def test_the_block_and_the_commands_of_the_page_run() -> None:
    names: dict[str, Any] = {"__name__": "shop"}
    for block in PAGE.blocks:
        PAGE.run(block, names)
    assert wrong_commands(PAGE.text) == []
