"""The page about the canvas runs as it stands, from top to bottom."""

import re
from pathlib import Path
from typing import Any

import pytest

from sedano import testing

PAGE = (Path(__file__).parents[2] / "docs" / "canvas.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_runs_from_top_to_bottom() -> None:
    names: dict[str, Any] = {"__name__": "page"}
    first, *others = [compile(block, "docs/canvas.md", "exec") for block in BLOCKS]
    exec(first, names)  # noqa: S102 - the page is ours
    with testing.world(names["app"]) as world:
        names["drain"] = world.drain
        for block in others:
            exec(block, names)  # noqa: S102 - the page is ours
        world.drain()
        assert names["noted"] == []
        assert [message.attributes["reason"] for message in world.parked()] == ["rejected"]


@pytest.mark.parametrize(
    "form",
    ["chain(", "group(", "chord(", "fork(", ".map(", ".starmap(", ".chunks(", ".skew(", ".link(", ".link_error(", ".on_error(",
     "signature(", ".si(", ".set(", ".clone(", "self.replace(", "self.add_to_chord(", "on_failure="],
)  # fmt: skip
def test_every_form_is_shown(form: str) -> None:
    assert any(form in block for block in BLOCKS)
