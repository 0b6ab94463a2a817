"""The page about results runs as it stands, from top to bottom."""

import re
from pathlib import Path
from typing import Any

from sedano import testing

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_runs_from_top_to_bottom() -> None:
    names: dict[str, Any] = {"__name__": "page"}
    first, *others = [compile(block, "docs/results.md", "exec") for block in BLOCKS]
    exec(first, names)  # noqa: S102 - the page is ours
    with testing.world(names["app"]) as world:
        for block in others:
            exec(block, names)  # noqa: S102 - the page is ours
        world.drain()
