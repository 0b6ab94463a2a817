"""The page about security runs from top to bottom: a strange task is parked, and a wrong argument is refused."""

from typing import Any

from tests.docs.pages import page

PAGE = page("security.md")


def test_the_page_runs_from_top_to_bottom() -> None:
    names: dict[str, Any] = {"__name__": "shop"}
    for block in PAGE.blocks:
        PAGE.run(block, names)
