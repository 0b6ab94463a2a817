"""The page about boot steps and services runs as it stands."""

from typing import Any

from sedano import Sedano, testing
from tests.docs.pages import page

PAGE = page("boot.md")


def test_the_page_runs_from_top_to_bottom() -> None:
    app, down = Sedano("page"), list[str]()
    names: dict[str, Any] = {"app": app, "testing": testing, "down": down, "cache_answers": lambda: not down}
    for block in PAGE.blocks:
        PAGE.run(block, names)
    with testing.world(app):
        assert list(app.registry.services) == ["keep_prices"]
    assert names["prices"] == {}


def test_the_page_names_every_option_and_every_state() -> None:
    for word in ("name", "after", "optional", "timeout", "attempts"):
        assert f"| `{word}=` |" in PAGE.text
    for state in ("waiting", "started", "failed", "given up", "blocked"):
        assert f"| `{state}` |" in PAGE.text
