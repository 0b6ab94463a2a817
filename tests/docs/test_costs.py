"""The page about costs has deliveries and settings that exist, and the writes that the estimate counts."""

import dataclasses
import json
import re
from typing import Any

import pytest

from infra import task_cost
from infra.config import StageConfig
from sedano import testing
from sedano.errors import SpendingExceeded
from sedano.model.history.invocation_prices import NANO
from sedano.model.history.rollups import Rollup
from sedano.model.pauses import parsed
from sedano.views.discovery import discovered
from tests.docs.pages import page
from tests.docs.shown_commands import wrong_commands

PAGE = page("costs.md")
ESTIMATED = "work.estimate()"
"""The block that needs a history: the others only declare."""
METRICS = {"SpendingNear": 0, "SpendingReached": 1}


def declare(names: dict[str, Any]) -> None:
    """Run the blocks that declare, in *names*."""
    for block in PAGE.blocks:
        if ESTIMATED not in block:
            PAGE.run(block, names)


def test_the_canvas_of_the_page_is_estimated_and_published_within_its_amount() -> None:
    names: dict[str, Any] = {"__name__": "shop"}
    declare(names)
    (block,) = [one for one in PAGE.blocks if ESTIMATED in one]
    with testing.world(names["app"]) as world:
        with pytest.raises(SpendingExceeded, match="no task ran in the last day"):
            PAGE.run(block, dict(names))
        assert world.sent("shop.resize") == []
        names["resize"].delay("a.jpg")
        world.elapse(180)
        PAGE.run(block, names)
        assert (names["estimate"].tasks, names["estimate"].unknown) == (1_000, ())
        assert len(world.sent("shop.resize")) == 1
        world.drain()
        assert len(world.sent("shop.resize")) == 1_001


def test_the_declarations_of_the_page_have_the_deliveries_of_its_table() -> None:
    names: dict[str, Any] = {"__name__": "shop"}
    declare(names)
    declared = {name: names[name].spec.delivery for name in ("charge", "resize", "warm")}
    assert declared == {"charge": "claimed", "resize": "record_once", "warm": "at_least_once"}
    assert names["warm"].spec.ignore_result


def test_the_limits_of_the_page_are_declared_and_pause_when_they_are_reached() -> None:
    names: dict[str, Any] = {"__name__": "shop"}
    declare(names)
    app = names["app"]
    assert app.registry.spending == {"": 5 * NANO, "acme": NANO // 2}
    assert discovered(app).tended, "the app has a controller"
    with testing.world(app) as world:
        minute = int(world.clock.now()) // 60
        share = ["shop.charge", "acme", minute, 1, NANO // 2]
        sums = {"v": 1, "again": 0, "runs": [], "spent": [["worker", minute, NANO // 2]], "shares": [share]}
        world.ports.rollups.put(Rollup("an object", minute, json.dumps(sums)))
        world.elapse(60)
        assert [(one.kind, one.name) for one in map(parsed, app.control.hello().paused) if one] == [("tenant", "acme")]
        assert all(f"`{metric}`" in PAGE.text and world.telemetry.counted(metric) == number for metric, number in METRICS.items())


def test_the_writes_of_the_table_are_those_of_the_estimate() -> None:
    rows = re.findall(r"^\| `(\w+)`.*? \| (\d) writes? \|", PAGE.text, re.MULTILINE)
    assert {delivery: int(writes) for delivery, writes in rows} == task_cost.WRITES


def test_every_setting_of_the_page_exists() -> None:
    fields = {field.name for field in dataclasses.fields(StageConfig)}
    named = {"blob_days", "history_days", "task_metrics", "own_key", "budget", "alarm_topic", "most_reads", "most_writes", "concurrency"}
    assert named | {"queue_concurrency", "most_budget"} <= fields
    assert all(f"`{name}" in PAGE.text for name in named)
    assert wrong_commands(PAGE.text) == []
