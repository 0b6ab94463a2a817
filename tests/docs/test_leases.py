"""The page about locks runs as it stands."""

import asyncio
from typing import Any

from sedano import Sedano, current, testing
from tests.docs.pages import page

PAGE = page("leases.md")


def test_the_page_runs_from_top_to_bottom() -> None:
    app = Sedano("page")
    names: dict[str, Any] = {"app": app, "current": current}
    with testing.world(app):
        for block in PAGE.blocks:
            PAGE.run(block, names)
        assert asyncio.run(names["build"]()) > 0
        first, second = (names["settle"].delay(7).get() for _ in range(2))
        assert second > first > 0


def test_every_kind_of_lease_has_a_block() -> None:
    shown = " ".join(PAGE.blocks)
    assert all(f"app.{kind}(" in shown for kind in ("lock", "leader", "partitions"))
    assert "singleton=" in shown
