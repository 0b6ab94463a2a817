"""The page about time limits runs as it stands, from top to bottom."""

import re
from pathlib import Path
from typing import Any

from sedano import testing

PAGE = (Path(__file__).parents[2] / "docs" / "time_limits.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_runs_from_top_to_bottom() -> None:
    names: dict[str, Any] = {"__name__": "page"}
    before, use = BLOCKS[0].rsplit("\n\n", 1)
    exec(compile(before, "docs/time_limits.md", "exec"), names)  # noqa: S102 - the page is ours
    with testing.world(names["app"]) as world:
        exec(compile(use, "docs/time_limits.md", "exec"), names)  # noqa: S102 - the page is ours
        for block in BLOCKS[1:]:
            exec(compile(block, "docs/time_limits.md", "exec"), names)  # noqa: S102 - the page is ours
        assert world.parked() == []
