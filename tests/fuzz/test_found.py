"""Inputs that broke a promise once do not break it again. A line of `samples/found.jsonl` is the target, the input, and what it broke; or
several inputs, where the first ones led to what the last one broke."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.loop import replayed
from tests.fuzz.targets import every

FOUND = [json.loads(line) for line in (Path(__file__).parent / "samples" / "found.jsonl").read_text().splitlines()]
TARGETS = {target.name: target for target in every()}


@pytest.mark.parametrize("found", FOUND, ids=[f"{one['target']}: {one['broke']}" for one in FOUND])
def test_what_escaped_once_is_refused_now(found: dict[str, Any]) -> None:
    inputs: list[str] = found.get("inputs") or [found["input"]]
    escapes = replayed(TARGETS[found["target"]], [one.encode("latin-1") for one in inputs])
    assert escapes == []
