"""The page about documents and sinks runs as it stands, and names every field and every limit."""

from typing import Any

from sedano.api.documents import CIRCUIT, RETRY
from sedano.aws.sinks.webhook import _BUSY, _UNKNOWN, CONNECT_TIMEOUT_S, READ_TIMEOUT_S
from sedano.model.messages.message import Document
from sedano.model.sinks.content import content_of
from sedano.model.sinks.places import MOST_BYTES
from tests.docs.pages import page

PAGE = page("sinks.md")


def test_the_page_runs_from_top_to_bottom() -> None:
    names: dict[str, Any] = {"__name__": "page"}
    for block in PAGE.blocks:
        PAGE.run(block, names)


def test_the_page_has_a_row_for_each_field_of_a_document() -> None:
    assert all(f"| `{field}` |" in PAGE.text for field in content_of(Document("d", "t", "n")))


def test_the_page_has_the_retries_the_circuit_the_statuses_and_the_limits() -> None:
    pauses = sum(RETRY.pause(number, 0.5) for number in range(RETRY.max_retries)) / 3_600
    assert RETRY.max_retries + 1 == 20
    assert 2.3 < pauses < 2.7
    assert (CIRCUIT.failures, CIRCUIT.window, CIRCUIT.open_for) == (3, 60, 30)
    assert (CONNECT_TIMEOUT_S, READ_TIMEOUT_S) == (2, 8)
    assert all(str(status) in PAGE.text for status in (*_BUSY, *_UNKNOWN - {405, 407}))
    assert (MOST_BYTES["dynamodb"], MOST_BYTES["sns"]) == (390 * 1_024, 255 * 1_024)
    assert all(0.97 < MOST_BYTES[kind] / 1_024**2 < 1 for kind in ("sqs", "events", "firehose"))
