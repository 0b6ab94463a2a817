"""The page about the cluster runs as it stands, from top to bottom."""

import re
from pathlib import Path
from typing import Any

from sedano import testing
from sedano.model import states

PAGE = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_runs_from_top_to_bottom() -> None:
    names: dict[str, Any] = {"__name__": "page"}
    first, *others = [compile(block, "docs/cluster.md", "exec") for block in BLOCKS]
    exec(first, names)  # noqa: S102 - the page is ours
    with testing.world(names["app"]) as world:
        for block in others:
            exec(block, names)  # noqa: S102 - the page is ours
            if "late" in names and "view" not in names:
                world.clock.advance(120.0)
                world.drain()
        assert names["late"].state == states.REVOKED
