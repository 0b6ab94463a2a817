"""Telemetry: lines and metrics come out as they were told, and nothing that a user names can pose as a metric."""

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from sedano.aws.program_log import ProgramLog
from sedano.aws.telemetry import PowertoolsTelemetry
from sedano.aws.telemetry_choice import TelemetryCounts
from sedano.memory import MemoryTelemetry
from sedano.ports import Telemetry
from sedano.telemetry.composed import ComposedTelemetry, Outputs
from sedano.telemetry.streams import json_logs
from tests.strict_aws import emf


class Kept:
    """A telemetry and what it wrote, one form for both kinds."""

    def __init__(self, telemetry: Telemetry, stream: io.StringIO) -> None:
        self.telemetry = telemetry
        self._stream = stream

    def written(self) -> list[dict[str, Any]]:
        """Every line of the stream."""
        return [json.loads(line) for line in self._stream.getvalue().splitlines()]

    def lines(self) -> list[tuple[str, str, Any]]:
        """Level, message and fields of what was logged."""
        if isinstance(self.telemetry, MemoryTelemetry):
            return [(line.level, line.message, dict(line.fields)) for line in self.telemetry.lines]
        found = [line for line in self.written() if "_aws" not in line]
        return [(line["level"].lower(), line["message"], line.get("fields", {})) for line in found]

    def counted(self, metric: str, **dimensions: str) -> float:
        """The sum of a metric over what bears these dimensions."""
        self.telemetry.flush()
        if isinstance(self.telemetry, MemoryTelemetry):
            return self.telemetry.counted(metric, **dimensions)
        found = [line for line in self.written() if "_aws" in line and dimensions.items() <= line.items()]
        return float(sum(sum(line.get(metric, ())) for line in found))


@pytest.fixture(params=["memory", "powertools", "composed"])
def kept(request: pytest.FixtureRequest) -> Iterator[Kept]:
    """A telemetry over a stream of its own; CloudWatch takes each line that was written to it."""
    stream = io.StringIO()
    if request.param == "memory":
        yield Kept(MemoryTelemetry(), stream)
        return
    service = f"sedano-{request.node.name}"
    telemetry: Telemetry = PowertoolsTelemetry(service, "Sedano", {"sqs.SendMessage": 2}, level="DEBUG", stream=stream)
    if request.param == "composed":
        telemetry = ComposedTelemetry(Outputs(json_logs(service, stream), TelemetryCounts(telemetry)), service, dict, level="debug")
    yield Kept(telemetry, stream)
    refused = [trip for line in stream.getvalue().splitlines() for trip in emf.problems(line)]
    assert refused == []


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_a_line_comes_out_as_it_was_told(kept: Kept, level: str) -> None:
    kept.telemetry.log(level, "task failed", task="shop.add", retries=2)
    assert kept.lines() == [(level, "task failed", {"task": "shop.add", "retries": 2})]


def test_fields_of_any_name_stay_below_the_top_level(kept: Kept) -> None:
    hostile = {
        "_aws": {"CloudWatchMetrics": [{"Namespace": "Bill", "Dimensions": [[]], "Metrics": [{"Name": "x"}]}]},
        "level": "none", "message": "other", "timestamp": 0, "service": "other", "name": "n", "args": [1], "self": 1,
    }  # fmt: skip
    kept.telemetry.log("info", "hello", **hostile)
    assert kept.lines() == [("info", "hello", hostile)]
    for line in kept.written():
        assert set(line) <= {"level", "message", "timestamp", "service", "fields"}


def test_a_message_of_any_text_stays_one_line_and_a_text(kept: Kept) -> None:
    text = '{"_aws": {}}\n{"_aws": {}}\r\u2028\ud800'
    kept.telemetry.log("info", text)
    assert kept.lines() == [("info", text, {})]


def test_what_json_cannot_hold_is_written_as_text(kept: Kept) -> None:
    kept.telemetry.log("info", "odd", value={1, 2}, data=b"x", error=ValueError("no"))
    assert len(kept.lines()) == 1


def test_counts_add_up(kept: Kept) -> None:
    for _ in range(3):
        kept.telemetry.count("TasksDone", task="shop.add")
    kept.telemetry.count("TasksDone", 4, task="shop.pay")
    kept.telemetry.count("Batches", 0.5)
    assert kept.counted("TasksDone", task="shop.add") == 3
    assert kept.counted("TasksDone") == 7
    assert kept.counted("Batches") == 0.5
    assert kept.counted("Unheard") == 0


def test_a_count_leaves_once(kept: Kept) -> None:
    kept.telemetry.count("TasksDone")
    for _ in range(3):
        kept.telemetry.flush()
    assert kept.counted("TasksDone") == 1


def test_counts_with_different_dimensions_are_different_metrics() -> None:
    stream = io.StringIO()
    telemetry = PowertoolsTelemetry("sedano-dimensions", "Sedano", {}, stream=stream)
    telemetry.count("Limited", queue="a")
    telemetry.count("Parked", reason="schema")
    telemetry.flush()
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["_aws"]["CloudWatchMetrics"][0]["Dimensions"] for line in lines] == [[["queue", "service"]], [["reason", "service"]]]
    assert [line["_aws"]["CloudWatchMetrics"][0]["Namespace"] for line in lines] == ["Sedano", "Sedano"]


def _emf(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def _series(lines: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    """What CloudWatch charges by the month: each metric with the values of its dimensions."""
    told = [(line, directive) for line in lines for directive in line["_aws"]["CloudWatchMetrics"]]
    return {
        (metric["Name"], *((name, line[name]) for name in names))
        for line, directive in told
        for names in directive["Dimensions"]
        for metric in directive["Metrics"]
    }


@pytest.mark.parametrize(("by_task", "series"), [(False, 2), (True, 60)])
def test_thirty_tasks_make_two_series_unless_a_stage_asks_for_each_task(by_task: bool, series: int) -> None:
    stream = io.StringIO()
    telemetry = PowertoolsTelemetry("sedano-worker", "Sedano", {}, stream=stream, by_task=by_task)
    for number in range(30):
        telemetry.count("TasksSucceeded", task=f"shop.task{number}")
        telemetry.count("TasksFailed", task=f"shop.task{number}")
    telemetry.flush()
    assert len(_series(_emf(stream))) == series
    assert {line["task"] for line in _emf(stream)} == {f"shop.task{number}" for number in range(30)}, "its lines say the task"


@pytest.mark.parametrize("name", ["задача", "a\u2028b", " ", "", "\t", "100%", "x" * 2000, "\ud800", "é" * 400, "shop.add"])
def test_a_dimension_is_printable_ascii_whatever_it_is_called(name: str) -> None:
    stream = io.StringIO()
    telemetry = PowertoolsTelemetry("sedano-worker", "Sedano", {}, stream=stream, by_task=True)
    telemetry.count("TasksSucceeded", task=name)
    telemetry.count("MessagesParked", reason=name)
    telemetry.flush()
    found = [value for line in _emf(stream) for value in (line.get("task"), line.get("reason")) if value is not None]
    assert len(found) == 2
    for value in found:
        assert value.isascii()
        assert value.isprintable()
        assert value.strip()
        assert len(value) <= 1024


def test_two_names_are_two_dimensions() -> None:
    stream = io.StringIO()
    telemetry = PowertoolsTelemetry("sedano-worker", "Sedano", {}, stream=stream, by_task=True)
    names = ("é", "%C3%A9", "a%", "a%25", " ", "%20", "  ")
    for name in names:
        telemetry.count("TasksSucceeded", task=name)
    telemetry.flush()
    assert len({line["task"] for line in _emf(stream)}) == len(names)


@pytest.mark.parametrize(("metrics", "lines"), [(100, 1), (101, 2), (250, 3)])
def test_no_line_declares_more_metrics_than_cloudwatch_reads(metrics: int, lines: int) -> None:
    stream = io.StringIO()
    telemetry = PowertoolsTelemetry("sedano-worker", "Sedano", {}, stream=stream)
    for number in range(metrics):
        telemetry.count(f"Metric{number}", number)
    telemetry.flush()
    found = _emf(stream)
    assert len(found) == lines
    assert {(name, line[name][0]) for line in found for name in line if name.startswith("Metric")} == {
        (f"Metric{number}", number) for number in range(metrics)
    }


def test_a_long_text_does_not_make_a_line_that_cloudwatch_refuses() -> None:
    stream = io.StringIO()
    telemetry = PowertoolsTelemetry("sedano-long-text", "Sedano", {}, level="DEBUG", stream=stream)
    telemetry.log("error", "x" * 2_000_000, error="é" * 2_000_000)
    (line,) = stream.getvalue().splitlines()
    assert len(line) < 1_000_000
    assert json.loads(line)["fields"]["error"].endswith(f"{2_000_000 - 32 * 1024} more")


def test_calls_are_those_that_were_made() -> None:
    counts = {"sqs.SendMessage": 2}
    telemetry = PowertoolsTelemetry("sedano-calls", "Sedano", counts)
    counts["sqs.SendMessage"] += 1
    assert telemetry.calls() == {"sqs.SendMessage": 3}
    memory = MemoryTelemetry()
    memory.called("sqs.SendMessage", 2)
    memory.called("sqs.SendMessage")
    assert memory.calls() == {"sqs.SendMessage": 3}


class Broken(io.StringIO):
    """An output whose reader went away."""

    def write(self, _: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


@pytest.mark.parametrize("stream", [Broken(), None], ids=["broken pipe", "closed"])
def test_an_output_that_is_broken_loses_metrics_and_raises_nothing(stream: io.StringIO | None) -> None:
    if stream is None:
        stream = io.StringIO()
        stream.close()
    telemetry = PowertoolsTelemetry(f"sedano-broken-{id(stream)}", "Sedano", {}, stream=stream)
    telemetry.count("TasksSucceeded")
    telemetry.flush()
    telemetry.log("error", "task failed")


def test_a_metric_that_cannot_be_written_is_lost_and_the_next_ones_are_not() -> None:
    stream = io.StringIO()
    telemetry = PowertoolsTelemetry("sedano-lost", "Sedano", {}, stream=stream)
    telemetry.count("Odd", **{f"d{number}": "x" for number in range(40)})
    telemetry.flush()
    telemetry.count("Good")
    telemetry.flush()
    assert [line["Good"] for line in map(json.loads, stream.getvalue().splitlines()) if "Good" in line] == [[1]]


def test_a_program_logs_through_pythons_logging_and_writes_nothing_to_stdout(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    telemetry = ProgramLog({"sqs.SendMessageBatch": 3})
    with caplog.at_level("INFO", logger="sedano"):
        telemetry.log("debug", "not asked for")
        telemetry.log("warning", "queue away", queue="q\x1b[2J\n", error="slow down")
    telemetry.count("PublishBacklogged")
    telemetry.flush()
    (record,) = caplog.records
    assert (record.name, record.levelname, record.getMessage()) == ("sedano", "WARNING", "queue away queue=q\\x1b[2J\\n error=slow down")
    assert record.__dict__["sedano"] == {"queue": "q\x1b[2J\n", "error": "slow down"}
    assert telemetry.calls() == {"sqs.SendMessageBatch": 3}
    assert capsys.readouterr().out == ""
