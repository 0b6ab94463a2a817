"""The page about locks runs as it stands."""

import asyncio
import re
from pathlib import Path
from typing import Any

from sedano import Sedano, current, testing

PAGE = (Path(__file__).parents[2] / "docs" / "leases.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_runs_from_top_to_bottom() -> None:
    app = Sedano("page")
    names: dict[str, Any] = {"app": app, "current": current}
    with testing.world(app):
        for block in BLOCKS:
            exec(compile(block, "docs/leases.md", "exec"), names)  # noqa: S102 - the page is ours
        assert asyncio.run(names["build"]()) > 0
        first, second = (names["settle"].delay(7).get() for _ in range(2))
        assert second > first > 0


def test_every_kind_of_lease_has_a_block() -> None:
    shown = " ".join(BLOCKS)
    assert all(f"app.{kind}(" in shown for kind in ("lock", "leader", "partitions"))
    assert "singleton=" in shown
