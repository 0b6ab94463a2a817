"""The page about its framework runs as it is printed, from top to bottom."""

from typing import Any

from tests.docs.pages import page

PAGE = page("flask.md")


def test_the_page_runs_from_top_to_bottom() -> None:
    names: dict[str, Any] = {"__name__": "page"}
    for block in PAGE.blocks:
        PAGE.run(block, names)
