"""The outputs of telemetry: every adapter for logs keeps the promises of `Logs`, and every one for metrics those of `Metrics`.

The journal is a datagram socket that these tests read, StatsD a UDP socket of this machine.
"""

import array
import io
import json
import logging
import os
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from sedano.aws.telemetry import PowertoolsTelemetry
from sedano.aws.telemetry_choice import TelemetryCounts, TelemetryLines
from sedano.memory import MemoryTelemetry
from sedano.model.telemetry.journal_entries import PRIORITIES
from sedano.model.telemetry.log_entries import LEVELS, LONGEST_TEXT, LogEntry
from sedano.ports.telemetry import Logs, Metrics
from sedano.telemetry.journal import JournalLogs
from sedano.telemetry.python_logging import LOGGER, LoggingLogs
from sedano.telemetry.statsd import StatsdMetrics
from sedano.telemetry.streams import NoLogs, NoMetrics, console_logs, json_logs
from tests.unit.test_telemetry_protocols import journal_fields

Read = Callable[[], list[tuple[str, str]]]
"""Return the level and the text of each line so far, of which the message is a part."""
HOSTILE = '{"_aws": {}}\nPRIORITY=0\nlevel=error\r\x1b[2J'


class Writer(NamedTuple):
    """An adapter for logs, and how its output is read."""

    logs: Logs
    read: Read


class Journal:
    """A socket that receives as the journal does, and its path."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(5)

    def entries(self, number: int) -> list[dict[str, str]]:
        """The fields of the next lines; a long one arrives as a sealed file."""
        return [journal_fields(self._next()) for _ in range(number)]

    def waiting(self) -> Iterator[dict[str, str]]:
        """The fields of each line that has arrived."""
        self.socket.setblocking(False)
        while True:
            try:
                yield journal_fields(self._next())
            except BlockingIOError:
                return

    def _next(self) -> bytes:
        data, rights, _, _ = self.socket.recvmsg(1 << 20, socket.CMSG_SPACE(4))
        if not rights:
            return data
        with os.fdopen(array.array("i", rights[0][2])[0], "rb") as file:
            file.seek(0)
            return file.read()


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """A journal."""
    found = Journal(tmp_path / "journal")
    yield found
    found.socket.close()


def _of_json(stream: io.StringIO) -> Read:
    return lambda: [(line["level"].lower(), json.dumps(line)) for line in map(json.loads, stream.getvalue().splitlines())]


def _of_console(stream: io.StringIO) -> Read:
    lines = re.compile(r"\d\d:\d\d:\d\d ([A-Z]+) +(.*)")
    return lambda: [(level.lower(), text) for level, text in lines.findall(stream.getvalue())]


def _of_journal(journal: Journal) -> Read:
    levels = {str(number): level for level, number in PRIORITIES.items()}
    return lambda: [(levels[one["PRIORITY"]], str(one)) for one in journal.waiting()]


@pytest.fixture(params=["memory", "json", "console", "journald", "logging", "powertools"])
def writer(request: pytest.FixtureRequest, journal: Journal, caplog: pytest.LogCaptureFixture) -> Writer:
    """Each adapter that writes."""
    stream = io.StringIO()
    memory = MemoryTelemetry()
    caplog.set_level(logging.DEBUG, logger=LOGGER.name)
    powertools = PowertoolsTelemetry(f"sedano-{request.node.name}", "Sedano", {}, level="DEBUG", stream=stream)
    made: Mapping[str, tuple[Logs, Read]] = {
        "memory": (TelemetryLines(memory), lambda: [(line.level, f"{line.message} {line.fields}") for line in memory.lines]),
        "json": (json_logs("sedano-worker", stream), _of_json(stream)),
        "console": (console_logs(stream), _of_console(stream)),
        "journald": (JournalLogs("sedano-worker", journal.path), _of_journal(journal)),
        "logging": (LoggingLogs(), lambda: [(one.levelname.lower(), one.getMessage()) for one in caplog.records if one.name == "sedano"]),
        "powertools": (TelemetryLines(powertools), _of_json(stream)),
    }
    return Writer(*made[request.param])


def test_lines_come_out_once_in_their_order_with_level_and_fields(writer: Writer) -> None:
    for level in LEVELS:
        writer.logs.write(LogEntry(1.0, level, f"message of {level}", {"task_id": f"id-{level}"}))
    found = writer.read()
    assert [level for level, _ in found] == [*LEVELS]
    for level, text in found:
        assert f"message of {level}" in text
        assert f"id-{level}" in text


def test_a_hostile_text_is_one_line_of_its_own_level(writer: Writer) -> None:
    writer.logs.write(LogEntry(1.0, "info", HOSTILE, {"value": HOSTILE, HOSTILE: 1}))
    writer.logs.write(LogEntry(1.0, "info", "next", {}))
    assert [level for level, _ in writer.read()] == ["info", "info"]


def test_a_value_of_any_kind_can_be_written(writer: Writer) -> None:
    writer.logs.write(LogEntry(1.0, "warning", "odd \ud800", {"set": {1}, "bytes": b"x", "error": ValueError("no"), "none": None}))
    assert len(writer.read()) == 1


def test_no_logs_and_no_metrics_write_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    NoLogs().write(LogEntry(1.0, "error", "m", {}))
    metrics = NoMetrics()
    metrics.add("Done", 1, {})
    metrics.flush()
    assert capfd.readouterr() == ("", "")


class Broken(io.StringIO):
    """An output whose reader went away."""

    def write(self, _: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


@pytest.mark.parametrize("logs", [json_logs("s", Broken()), console_logs(Broken())], ids=["json", "console"])
def test_a_stream_without_a_reader_says_that_the_line_can_be_offered_again(logs: Logs) -> None:
    with pytest.raises(OSError, match="Broken pipe"):
        logs.write(LogEntry(1.0, "info", "m", {}))


def test_a_journal_that_is_away_or_does_not_read_says_so_and_takes_lines_later(tmp_path: Path) -> None:
    logs = JournalLogs("sedano-worker", str(tmp_path / "journal"))
    with pytest.raises(FileNotFoundError):
        logs.write(LogEntry(1.0, "info", "too early", {}))
    journal = Journal(tmp_path / "journal")
    with pytest.raises(BlockingIOError):  # noqa: PT012 - one of these writes finds the queue of the socket full
        for number in range(100_000):
            logs.write(LogEntry(1.0, "info", str(number), {}))
    assert [one["MESSAGE"] for one in journal.waiting()][:2] == ["0", "1"]
    logs.write(LogEntry(1.0, "info", "read again", {}))
    assert [one["MESSAGE"] for one in journal.waiting()] == ["read again"]
    journal.socket.close()


def test_a_line_that_is_too_long_for_a_datagram_reaches_the_journal_as_a_file(journal: Journal) -> None:
    fields = {f"field{number}": "x" * LONGEST_TEXT for number in range(30)}
    JournalLogs("sedano-worker", journal.path).write(LogEntry(1.0, "error", "long", fields))
    (found,) = journal.entries(1)
    assert (found["MESSAGE"], found["SYSLOG_IDENTIFIER"]) == ("long", "sedano-worker")
    assert sum(map(len, found.values())) > 30 * LONGEST_TEXT


class Counter(NamedTuple):
    """An adapter for metrics, and its sums so far: by metric and dimensions."""

    metrics: Metrics
    read: Callable[[], list[tuple[str, float, dict[str, str]]]]


def _of_statsd(receives: socket.socket) -> Iterator[tuple[str, float, dict[str, str]]]:
    receives.setblocking(False)
    while True:
        try:
            data = receives.recv(65_536)
        except BlockingIOError:
            return
        for line in data.decode().split("\n"):
            name, number, kind, tags = re.fullmatch(r"sedano\.(\w+):([-\d.]+)\|(c)(?:\|#(.*))?", line).groups()  # type: ignore[union-attr]
            assert kind == "c"
            yield name, float(number), dict(tag.split(":") for tag in tags.split(",")) if tags else {}


def _of_emf(stream: io.StringIO) -> Iterator[tuple[str, float, dict[str, str]]]:
    for line in map(json.loads, stream.getvalue().splitlines()):
        (about,) = line["_aws"]["CloudWatchMetrics"]
        for metric in about["Metrics"]:
            yield metric["Name"], sum(line[metric["Name"]]), {name: line[name] for name in about["Dimensions"][0] if name != "service"}


@pytest.fixture(params=["memory", "emf", "statsd"])
def counter(request: pytest.FixtureRequest) -> Iterator[Counter]:
    """Each adapter that counts."""
    if request.param == "memory":
        memory = MemoryTelemetry()
        yield Counter(TelemetryCounts(memory), lambda: [(name, value, dict(told)) for (name, told), value in memory._written.items()])
        return
    if request.param == "emf":
        stream = io.StringIO()
        telemetry = PowertoolsTelemetry("sedano-worker", "Sedano", {}, stream=stream, by_task=True)
        yield Counter(TelemetryCounts(telemetry), lambda: list(_of_emf(stream)))
        return
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receives:
        receives.bind(("127.0.0.1", 0))
        yield Counter(StatsdMetrics("127.0.0.1", receives.getsockname()[1]), lambda: list(_of_statsd(receives)))


def test_counts_add_up_by_their_dimensions_and_leave_at_a_flush(counter: Counter) -> None:
    for _ in range(3):
        counter.metrics.add("TasksDone", 1, {"task": "shop.add"})
    counter.metrics.add("TasksDone", 4, {"task": "shop.pay"})
    counter.metrics.add("Batches", 0.5, {})
    counter.metrics.flush()
    assert sorted(counter.read(), key=str) == [
        ("Batches", 0.5, {}), ("TasksDone", 3.0, {"task": "shop.add"}), ("TasksDone", 4.0, {"task": "shop.pay"}),
    ]  # fmt: skip


def test_a_dimension_of_any_text_forges_no_other_metric(counter: Counter) -> None:
    counter.metrics.add("Parked", 1, {"reason": "x:1|c\nsedano.Forged:1|c|#a:b,c:d é"})
    counter.metrics.flush()
    assert [(name, value, [*told]) for name, value, told in counter.read()] == [("Parked", 1.0, ["reason"])]


def test_many_counts_need_several_datagrams_and_none_is_lost() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receives:
        receives.bind(("127.0.0.1", 0))
        metrics = StatsdMetrics("127.0.0.1", receives.getsockname()[1])
        for number in range(200):
            metrics.add("TasksDone", number, {"task": f"shop.task{number}"})
        metrics.flush()
        assert sorted(value for _, value, _ in _of_statsd(receives)) == [float(number) for number in range(200)]
        metrics.flush()
        assert list(_of_statsd(receives)) == [], "a sum leaves once"


def test_a_server_of_statsd_that_does_not_run_is_not_waited_for() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    metrics = StatsdMetrics("127.0.0.1", port)
    metrics.add("Done", 1, {})
    metrics.flush()
