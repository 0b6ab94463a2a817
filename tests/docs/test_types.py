"""The page about types runs as it is printed, from top to bottom; tests/typing shows it to mypy and pyright."""

import asyncio
from typing import Any

from sedano import testing
from tests.docs.pages import page

PAGE = page("types.md")


def test_the_page_runs_from_top_to_bottom() -> None:
    names: dict[str, Any] = {"__name__": "page"}
    for block in PAGE.blocks:
        PAGE.run(block, names)
    with testing.world(names["app"]):
        names["publish_all"]([names["price"], names["stock"]])
    assert asyncio.run(names["now"](names["stock"])) == 3
