"""The page about time limits runs as it stands, from top to bottom."""

from typing import Any

from sedano import testing
from tests.docs.pages import page

PAGE = page("time_limits.md")


def test_the_page_runs_from_top_to_bottom() -> None:
    names: dict[str, Any] = {"__name__": "page"}
    before, use = PAGE.blocks[0].rsplit("\n\n", 1)
    PAGE.run(before, names)
    with testing.world(names["app"]) as world:
        PAGE.run(use, names)
        for block in PAGE.blocks[1:]:
            PAGE.run(block, names)
        assert world.parked() == []
