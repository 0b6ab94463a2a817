"""Telemetry of several outputs: nothing raises, a line that cannot be written is kept and offered again, a loss is reported."""

import logging
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from sedano.model.telemetry.log_entries import LOST, MOST_KEPT, LogEntry
from sedano.telemetry.composed import OFFERED_AT_ONCE, ComposedTelemetry, Outputs
from sedano.telemetry.streams import NoMetrics


class Output:
    """Logs that can be taken away: *wrong* is raised by each line whose message it refuses."""

    def __init__(self) -> None:
        self.entries: list[LogEntry] = []
        self.away: Exception | None = None
        self.never: dict[str, Exception] = {}
        self.offered = 0

    def write(self, entry: LogEntry) -> None:
        """Keep the line, or raise."""
        self.offered += 1
        wrong = self.never.get(entry.message) or self.away
        if wrong is not None:
            raise wrong
        self.entries.append(entry)

    def messages(self) -> list[str]:
        """The messages so far."""
        return [entry.message for entry in self.entries]


class Refusing:
    """Metrics that always raise."""

    def add(self, metric: str, value: float, dimensions: Mapping[str, str]) -> None:
        """Raise."""
        raise OSError(metric)

    def flush(self) -> None:
        """Raise."""
        raise ValueError("flush")


def composed(output: Any, metrics: Any = None, level: str = "DEBUG") -> ComposedTelemetry:
    """Telemetry over *output*, whose clock moves a second with each line."""
    seconds = iter(range(1, 100_000))
    outputs = Outputs(output, metrics or NoMetrics())
    return ComposedTelemetry(outputs, "sedano-composed-test", lambda: {"sqs.SendMessage": 2}, level=level, now=lambda: next(seconds))


def test_a_line_that_could_not_be_written_is_offered_before_the_next_one_with_its_own_time() -> None:
    output = Output()
    telemetry = composed(output)
    output.away = BlockingIOError("full")
    telemetry.log("info", "first", task="a")
    telemetry.log("error", "second")
    assert output.entries == []
    output.away = None
    telemetry.log("info", "third")
    assert output.entries == [
        LogEntry(1, "info", "first", {"task": "a"}), LogEntry(2, "error", "second", {}), LogEntry(3, "info", "third", {}),
    ]  # fmt: skip


def test_while_the_output_is_away_one_line_is_tried_at_each_call() -> None:
    output = Output()
    telemetry = composed(output)
    output.away = BrokenPipeError("gone")
    for _ in range(10):
        telemetry.log("info", "m")
    assert output.offered == 10


def test_a_flush_offers_kept_lines_and_asks_nothing_of_an_output_that_has_them_all() -> None:
    output = Output()
    telemetry = composed(output)
    output.away = OSError("away")
    telemetry.log("info", "kept")
    output.away = None
    telemetry.flush()
    assert output.messages() == ["kept"]
    telemetry.flush()
    assert output.offered == 2


def test_the_oldest_lines_are_lost_beyond_the_bound_and_the_loss_is_reported_after_the_kept_ones() -> None:
    output = Output()
    telemetry = composed(output)
    output.away = OSError("away")
    for number in range(MOST_KEPT + 5):
        telemetry.log("info", str(number))
    output.away = None
    for _ in range(MOST_KEPT // OFFERED_AT_ONCE + 1):
        telemetry.flush()
    assert output.messages() == [*map(str, range(5, MOST_KEPT + 5)), LOST]
    assert output.entries[-1].fields == {"lines": 5}


def test_one_call_writes_a_bounded_number_of_kept_lines() -> None:
    output = Output()
    telemetry = composed(output)
    output.away = OSError("away")
    for number in range(OFFERED_AT_ONCE * 2):
        telemetry.log("info", str(number))
    output.away = None
    telemetry.flush()
    assert len(output.entries) == OFFERED_AT_ONCE


def test_a_line_that_can_never_be_written_holds_up_no_other_and_is_counted_as_lost() -> None:
    output = Output()
    telemetry = composed(output)
    output.never["odd"] = ValueError("no text")
    for message in ("one", "odd", "two"):
        telemetry.log("info", message)
    assert output.messages() == ["one", LOST, "two"]


def test_a_report_of_a_loss_that_cannot_be_written_is_kept_too() -> None:
    output = Output()
    telemetry = composed(output)
    output.never = {"odd": ValueError("no"), LOST: OSError("away")}
    telemetry.log("info", "odd")
    output.never = {}
    telemetry.flush()
    assert [(entry.message, entry.fields) for entry in output.entries] == [(LOST, {"lines": 1})]


def test_an_output_that_logs_itself_does_not_call_itself_for_ever() -> None:
    class Loop(Output):
        def write(self, entry: LogEntry) -> None:
            super().write(entry)
            if len(self.entries) < 3:
                telemetry.log("info", f"about {entry.message}")

    output = Loop()
    telemetry = composed(output)
    telemetry.log("info", "m")
    assert output.messages() == ["m", "about m", "about about m"]


def test_metrics_that_raise_reach_no_task() -> None:
    telemetry = composed(Output(), Refusing())
    telemetry.count("TasksDone", task="a")
    telemetry.flush()
    assert telemetry.calls() == {"sqs.SendMessage": 2}


@pytest.mark.parametrize(("level", "written"), [("DEBUG", 4), ("info", 3), ("WARNING", 2), ("error", 1), ("nonsense", 3)])
def test_lines_below_the_level_are_not_written(level: str, written: int) -> None:
    output = Output()
    telemetry = composed(output, level=level)
    for each in ("debug", "info", "warning", "error"):
        telemetry.log(each, each)
    assert len(output.entries) == written


def test_a_command_to_the_workers_changes_the_level_while_they_run() -> None:
    output = Output()
    telemetry = composed(output, level="INFO")
    logging.getLogger("sedano-composed-test").setLevel("DEBUG")
    telemetry.log("debug", "m")
    assert output.messages() == ["m"]


def test_lines_of_several_threads_are_all_written_once() -> None:
    output = Output()
    telemetry = composed(output)

    def many() -> None:
        for _ in range(200):
            telemetry.log("info", "m")

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(output.entries) == 800
