"""What a canvas takes, in numbers that are the same on every machine; `make bench` measures larger ones."""

from collections.abc import Sequence

import pytest

from benchmarks import canvas, canvas_beside
from benchmarks.report import Entry


def missed(entries: Sequence[Entry]) -> list[str]:
    """Return what is held to a target and misses it."""
    assert any(entry.target is not None for entry in entries)
    return [f"{entry.name}: {entry.value} {entry.unit}" for entry in entries if entry.verdict == "MISSED"]


def test_no_message_grows_with_its_canvas() -> None:
    entries = canvas.sizes(most=3_000)
    assert missed(entries) == []
    assert max(e.value for e in entries) < 2_700


def test_a_group_is_one_message_of_its_publisher_and_is_sent_in_tens_by_its_launches() -> None:
    assert canvas.group_calls(3) == ({"send": 1}, {"send": 1, "claim": 1, "record": 1})
    assert canvas.group_calls(50) == ({"send": 1, "put": 1}, {"send": 5, "get": 1, "claim": 1, "record": 1})
    assert canvas.group_calls(2_000) == ({"send": 1, "put": 4}, {"send": 201, "get": 4, "claim": 5, "record": 5})


def test_a_chord_costs_a_little_more_than_its_members_and_grows_with_them() -> None:
    entries = canvas.chord_costs((100, 1_000, 2_000))
    assert missed(entries) == []
    growth = {e.name: e.value for e in entries if "exponent" in e.name and "CPU" not in e.name}
    assert all(0.95 < value < 1.05 for value in growth.values())


def test_a_link_of_a_chain_is_two_writes_and_where_it_is_alone_a_hundredth_of_a_send() -> None:
    entries = canvas.chain_costs(200, beside=10)
    assert missed(entries) == []
    assert [e.value for e in entries[:2]] == [2.0, pytest.approx(0.01)]


def test_a_chain_of_ten_that_is_alone_is_one_invocation_and_one_send() -> None:
    assert canvas.alone() == (20, 1, 1)
    assert canvas.alone(inline=False) == (20, 19, 10)


def test_a_peers_chain_is_one_large_message() -> None:
    entries = canvas_beside.section(100, 20, 10).entries
    found = {e.name: e.value for e in entries}
    assert found["first message, chain of 100: Celery"] > 20 * 1_024 > 20 * found["first message, chain of 100: sedano"]
    assert (found["sends, group of 20: Celery"], found["sends, group of 20: sedano"]) == (20, 3)
    assert missed(entries) == []
