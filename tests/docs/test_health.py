"""The page about pauses, circuits and health runs as it stands."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from sedano import Breaker, Sedano, testing
from sedano.engine.worker import WorkerSettings

PAGE = (Path(__file__).parents[2] / "docs" / "health.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_runs_from_top_to_bottom() -> None:
    app = Sedano("page")
    with testing.world(app, settings=WorkerSettings(lanes=0, heartbeat=0.0)) as world:
        names: dict[str, Any] = {"app": app, "world": world}
        for block in BLOCKS:
            exec(compile(block, "docs/health.md", "exec"), names)  # noqa: S102 - the page is ours
        assert names["found"].state == "PENDING"


def test_every_rule_of_a_circuit_is_told() -> None:
    assert [field.name for field in fields(Breaker) if f"`{field.name}" not in PAGE] == []
