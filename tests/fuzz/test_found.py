"""Inputs that broke a promise once (`samples/found.jsonl`: the target, the input, what it broke) do not break it again."""

import json
from pathlib import Path

import pytest

from tests.fuzz.loop import replayed
from tests.fuzz.targets import every

FOUND = [json.loads(line) for line in (Path(__file__).parent / "samples" / "found.jsonl").read_text().splitlines()]
TARGETS = {target.name: target for target in every()}


@pytest.mark.parametrize("found", FOUND, ids=[f"{one['target']}: {one['broke']}" for one in FOUND])
def test_what_escaped_once_is_refused_now(found: dict[str, str]) -> None:
    escapes = replayed(TARGETS[found["target"]], [found["input"].encode("latin-1")])
    assert escapes == []
