"""The page about pauses, circuits and health runs as it stands."""

from dataclasses import fields
from typing import Any

from sedano import Breaker, Sedano, testing
from sedano.engine.worker.pipeline import WorkerSettings
from tests.docs.pages import page

PAGE = page("health.md")


def test_the_page_runs_from_top_to_bottom() -> None:
    app = Sedano("page")
    with testing.world(app, settings=WorkerSettings(lanes=0, heartbeat=0.0)) as world:
        names: dict[str, Any] = {"app": app, "world": world}
        for block in PAGE.blocks:
            PAGE.run(block, names)
        assert names["found"].state == "PENDING"


def test_every_rule_of_a_circuit_is_told() -> None:
    assert [field.name for field in fields(Breaker) if f"`{field.name}" not in PAGE.text] == []
