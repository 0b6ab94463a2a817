"""The datagrams of the journal and of StatsD, byte by byte, read by parsers that share nothing with their writers."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.model.telemetry.journal_entries import LONGEST_NAME, PREFIX, PRIORITIES, journal_datagram
from sedano.model.telemetry.log_entries import LogEntry
from sedano.model.telemetry.statsd_lines import LONGEST_VALUE, MOST_BYTES, datagrams, statsd_line


def journal_fields(data: bytes) -> dict[str, str]:
    """Read a datagram as the journal does: names are checked, a second field of a name would be another value."""
    found: dict[str, str] = {}
    while data:
        line, _, rest = data.partition(b"\n")
        name, equals, value = line.partition(b"=")
        if not equals:
            length = int.from_bytes(rest[:8], "little")
            value, end = rest[8 : 8 + length], rest[8 + length : 9 + length]
            assert end == b"\n"
            rest = rest[9 + length :]
        assert 0 < len(name) <= 64
        assert all(one in b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_" for one in name)
        assert name.decode() not in found
        found[name.decode()] = value.decode()
        data = rest
    return found


def test_a_line_for_the_journal_byte_by_byte() -> None:
    found = journal_datagram(LogEntry(0, "error", "task\nfailed", {"task_id": "a", "the key": 2}), "sedano-worker")
    assert found == (
        b"MESSAGE\n\x0b\0\0\0\0\0\0\0task\nfailed\nPRIORITY=3\nSYSLOG_IDENTIFIER=sedano-worker\nSEDANO_TASK_ID=a\nSEDANO_THE_KEY=2\n"
    )
    long = journal_datagram(LogEntry(0, "debug", "m", {"k": "x" * 32_769}), "s")
    assert long == b"MESSAGE=m\nPRIORITY=7\nSYSLOG_IDENTIFIER=s\nSEDANO_K=" + b"x" * 32_768 + b" ... 1 more\n"
    assert journal_datagram(LogEntry(0, "info", "\ud800", {}), "s").startswith(b"MESSAGE=?\n")
    assert PRIORITIES == {"debug": 7, "info": 6, "warning": 4, "error": 3}


@given(st.text(), st.dictionaries(st.text(), st.text() | st.integers()))
def test_no_text_forges_a_field(message: str, fields: dict[str, Any]) -> None:
    found = journal_fields(journal_datagram(LogEntry(0, "info", message, fields), "s"))
    assert found.pop("MESSAGE") == message.encode("utf-8", "replace").decode()
    assert (found.pop("PRIORITY"), found.pop("SYSLOG_IDENTIFIER")) == ("6", "s")
    assert all(name.startswith(PREFIX) for name in found)


def test_a_name_is_cut_to_what_the_journal_reads() -> None:
    found = journal_fields(journal_datagram(LogEntry(0, "info", "m", {"x" * 100: 1}), "s"))
    assert [name for name in found if name.startswith(PREFIX)] == ["SEDANO_" + "X" * 57]
    assert LONGEST_NAME == 64


@pytest.mark.parametrize(
    ("value", "dimensions", "line"),
    [
        (3, (), "sedano.Done:3|c"),
        (3.0, (), "sedano.Done:3|c"),
        (0.5, (("task", "shop.add"),), "sedano.Done:0.5|c|#task:shop.add"),
        (-1, (("a", "1"), ("b", "x|y#z,p:q r\n@")), "sedano.Done:-1|c|#a:1,b:x_y_z_p_q_r__"),
        (1, (("a", "x" * 300),), f"sedano.Done:1|c|#a:{'x' * 200}"),
        (math.nan, (), None),
        (math.inf, (), None),
    ],
)
def test_a_count_for_statsd(value: float, dimensions: tuple[tuple[str, str], ...], line: str | None) -> None:
    assert statsd_line("Done", value, dimensions) == line
    assert LONGEST_VALUE == 200


def test_lines_share_datagrams_and_a_longer_one_has_its_own() -> None:
    assert list(datagrams([], 7)) == []
    assert list(datagrams(["aaa", "bbb", "c"], 7)) == [b"aaa\nbbb", b"c"]
    assert list(datagrams(["aaa", "bbbb"], 7)) == [b"aaa", b"bbbb"]
    assert list(datagrams(["a", "b" * 9, "c"], 7)) == [b"a", b"b" * 9, b"c"]
    assert list(datagrams(["b" * 9, "c"], 7)) == [b"b" * 9, b"c"]
    assert list(datagrams(["é", "\ud800"], 7)) == ["é\n?".encode()]
    assert [len(one) for one in datagrams(["a" * 715, "b" * 716, "c" * 1_433, "d"])] == [1_432, 1_433, 1]
    assert MOST_BYTES == 1_432


@given(st.lists(st.text(alphabet="abé", min_size=1, max_size=9)))
def test_no_line_is_lost_or_split(lines: list[str]) -> None:
    found = list(datagrams(lines, 20))
    assert b"\n".join(found).decode().split("\n") == (lines or [""])
    assert all(len(one) <= 20 for one in found)
