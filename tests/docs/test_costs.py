"""The page about costs has deliveries and settings that exist, and the writes that the estimate counts."""

import dataclasses
import re
from typing import Any

from infra import cost
from infra.config import StageConfig
from tests.docs.pages import page
from tests.docs.shown_commands import wrong_commands

PAGE = page("costs.md")


def test_the_declarations_of_the_page_have_the_deliveries_of_its_table() -> None:
    names: dict[str, Any] = {"__name__": "shop"}
    for block in PAGE.blocks:
        PAGE.run(block, names)
    declared = {name: names[name].spec.delivery for name in ("charge", "resize", "warm")}
    assert declared == {"charge": "claimed", "resize": "record_once", "warm": "at_least_once"}
    assert names["warm"].spec.ignore_result


def test_the_writes_of_the_table_are_those_of_the_estimate() -> None:
    rows = re.findall(r"^\| `(\w+)`.*? \| (\d) writes? \|", PAGE.text, re.MULTILINE)
    assert {delivery: int(writes) for delivery, writes in rows} == cost.WRITES


def test_every_setting_of_the_page_exists() -> None:
    fields = {field.name for field in dataclasses.fields(StageConfig)}
    named = {"blob_days", "history_days", "task_metrics", "own_key", "budget", "alarm_topic", "most_reads", "most_writes", "concurrency"}
    assert named | {"queue_concurrency", "most_budget"} <= fields
    assert all(f"`{name}" in PAGE.text for name in named)
    assert wrong_commands(PAGE.text) == []
