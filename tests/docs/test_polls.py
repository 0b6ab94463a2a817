"""The page about polls runs as it stands, and names every limit and every status."""

from typing import Any

from sedano.api.polls import RETRY
from sedano.engine.sources.polls import MOST_PAGES
from sedano.model.sources.http_polls import _BUSY, _LATER, MOST_BODY_BYTES
from sedano.model.sources.polls import HOLD_S, LONGEST_WAIT_S, MOST_CURSOR_BYTES, MOST_ITEMS
from sedano.outbound.http_polls import ANSWER_TIMEOUT_S, CONNECT_TIMEOUT_S
from tests.docs.pages import page

PAGE = page("polls.md")


def test_the_page_runs_from_top_to_bottom() -> None:
    names: dict[str, Any] = {"__name__": "page"}
    for block in PAGE.blocks:
        PAGE.run(block, names)


def test_the_page_has_the_limits_and_the_statuses() -> None:
    assert (MOST_ITEMS, MOST_PAGES, MOST_CURSOR_BYTES, MOST_BODY_BYTES) == (5_000, 100, 16 * 1_024, 5 * 1_024**2)
    assert (HOLD_S, LONGEST_WAIT_S, RETRY.max_retries) == (120, 24 * 3_600, 3)
    assert (CONNECT_TIMEOUT_S, ANSWER_TIMEOUT_S) == (5, 30)
    assert all(str(status) in PAGE.text for status in _BUSY | _LATER)
