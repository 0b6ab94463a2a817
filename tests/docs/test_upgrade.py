"""The page about upgrades names commands and settings that exist, and refusals that happen."""

from typing import Any

from infra.config import StageConfig
from sedano.sqlite.schema import CHANGES
from tests.docs.pages import DOCS, page
from tests.docs.shown_commands import wrong_commands

PAGE = page("upgrade.md")
CHANGELOG = DOCS.parent / "CHANGELOG.md"


def test_every_command_of_the_page_exists() -> None:
    assert wrong_commands(PAGE.text) == []


def test_the_block_turns_inline_steps_off_which_are_on_otherwise() -> None:
    names: dict[str, Any] = {}
    (block,) = PAGE.blocks
    PAGE.run(block, names)
    assert names["upgraded"].worker.inline_links is False
    assert type(names["upgraded"].worker)().inline_links is True


def test_the_changelog_has_the_words_that_the_page_searches_for() -> None:
    text = CHANGELOG.read_text(encoding="utf-8")
    assert all(f"`{words}`" in PAGE.text and words in " ".join(text.split()) for words in ("older", "first deployed"))


def test_a_worker_holds_back_a_message_of_a_newer_protocol() -> None:
    assert "| `newer-protocol` | a higher version" in page("protocol/README.md").text


def test_a_file_of_an_earlier_layout_is_upgraded() -> None:
    assert CHANGES


def test_production_moves_a_tenth_of_the_work_first() -> None:
    assert StageConfig(stage="prod").permanent
    assert "A release in production moves a tenth of the work to the new code for five minutes." in page("deploy.md").text
