"""The page about arguments and results runs as it is printed, from top to bottom."""

from typing import Any

from sedano.model.messages.codec import MAX_DATA_BYTES
from tests.docs.pages import page

PAGE = page("arguments.md")


def test_the_page_runs_from_top_to_bottom() -> None:
    names: dict[str, Any] = {"__name__": "page"}
    for block in PAGE.blocks:
        PAGE.run(block, names)


def test_the_page_names_the_limits_of_the_code() -> None:
    assert f"may have {MAX_DATA_BYTES // 1024**2} MB as JSON" in PAGE.text
