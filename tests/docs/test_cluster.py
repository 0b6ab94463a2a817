"""The page about the cluster runs as it stands, from top to bottom."""

from typing import Any

from sedano import testing
from sedano.model import states
from tests.docs.pages import page

PAGE = page("cluster.md")


def test_the_page_runs_from_top_to_bottom() -> None:
    names: dict[str, Any] = {"__name__": "page"}
    first, *others = PAGE.blocks
    PAGE.run(first, names)
    with testing.world(names["app"]) as world:
        for block in others:
            PAGE.run(block, names)
            if "late" in names and "view" not in names:
                world.clock.advance(120.0)
                world.drain()
        assert names["late"].state == states.REVOKED
