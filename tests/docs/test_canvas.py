"""The page about the canvas runs as it stands, from top to bottom."""

from typing import Any

import pytest

from sedano import testing
from tests.docs.pages import page

PAGE = page("canvas.md")


def test_the_page_runs_from_top_to_bottom() -> None:
    names: dict[str, Any] = {"__name__": "page"}
    first, *others = PAGE.blocks
    PAGE.run(first, names)
    with testing.world(names["app"]) as world:
        names["drain"] = world.drain
        for block in others:
            PAGE.run(block, names)
        world.drain()
        assert names["noted"] == []
        assert [message.attributes["reason"] for message in world.parked()] == ["rejected", "expired"]


@pytest.mark.parametrize(
    "form",
    ["chain(", "group(", "chord(", "fork(", ".map(", ".starmap(", ".chunks(", ".skew(", ".link(", ".link_error(", ".on_error(",
     "signature(", ".si(", ".set(", ".clone(", "self.replace(", "self.add_to_chord(", "on_failure="],
)  # fmt: skip
def test_every_form_is_shown(form: str) -> None:
    assert any(form in block for block in PAGE.blocks)
