"""The page about limits runs as it stands."""

import re
from pathlib import Path
from typing import Any

from sedano import Sedano, testing
from sedano.engine.worker.pipeline import WorkerSettings

PAGE = (Path(__file__).parents[2] / "docs" / "flow.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_runs_from_top_to_bottom() -> None:
    app = Sedano("page", queues=("default", "default-high", "orders.fifo"))
    with testing.world(app, settings=WorkerSettings(lanes=0, heartbeat=0.0)) as world:
        names: dict[str, Any] = {"app": app, "world": world}
        for block in BLOCKS:
            exec(compile(block, "docs/flow.md", "exec"), names)  # noqa: S102 - the page is ours
    assert {"mail", "crawl", "sync", "render", "migrate", "query", "reindex", "store", "urgent", "bill"} <= set(app.registry.tasks)
