"""The page about results runs as it stands, from top to bottom."""

from typing import Any

from sedano import testing
from tests.docs.pages import page

PAGE = page("results.md")


def test_the_page_runs_from_top_to_bottom() -> None:
    names: dict[str, Any] = {"__name__": "page"}
    first, *others = PAGE.blocks
    PAGE.run(first, names)
    with testing.world(names["app"]) as world:
        for block in others:
            PAGE.run(block, names)
        world.drain()
