"""The page about retries runs as it stands, from top to bottom, and names every field of a policy with its default."""

from dataclasses import fields
from typing import Any

from sedano import testing
from sedano.model.retry import Retry
from tests.docs.pages import page

PAGE = page("retries.md")


def test_the_page_runs_from_top_to_bottom() -> None:
    names: dict[str, Any] = {"__name__": "page"}
    declared, use = PAGE.blocks[0].rsplit("\n\n", 1)
    PAGE.run(declared, names)
    with testing.world(names["app"]) as world:
        for block in (use, *PAGE.blocks[1:]):
            PAGE.run(block, names)
        assert world.parked() == []


def test_the_table_tells_every_field_with_its_default() -> None:
    rows = [line for line in PAGE.text.splitlines() if line.startswith("| `")]
    for one in fields(Retry):
        shown = f"{one.default:g}" if isinstance(one.default, int | float) and not isinstance(one.default, bool) else f"`{one.default}`"
        assert any(row.startswith(f"| `{one.name}` | {shown} |") for row in rows), one.name
