"""The page about time runs as it stands."""

import re
from pathlib import Path
from typing import Any

from sedano import Sedano, testing

PAGE = (Path(__file__).parents[2] / "docs" / "time.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_runs_from_top_to_bottom() -> None:
    app = Sedano("page")
    names: dict[str, Any] = {"app": app}
    with testing.world(app) as world:
        names["world"] = world
        for block in BLOCKS:
            exec(compile(block, "docs/time.md", "exec"), names)  # noqa: S102 - the page is ours
        world.drain()
        assert names["soon"].get() == 1


def test_each_rule_of_each_gap_and_fold_has_its_example() -> None:
    shown = " ".join(BLOCKS)
    assert all(f'{rule}"' in shown for rule in ('on_gap="next', 'on_gap="skip', 'on_fold="first', 'on_fold="both'))
