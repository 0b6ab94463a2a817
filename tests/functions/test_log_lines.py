"""What a body logs in a deployed function is written, from info on, with its task, and no key of it reaches a line's top level."""

import io
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from sedano.aws.log_lines import LineFormatter, write_lines
from sedano.aws.settings import command_addresses
from tests.functions.conftest import Functions, environment, handler_of
from tests.functions.corner import note

FUNCTION = {"AWS_LAMBDA_FUNCTION_NAME": "sedano-worker"}
QUIET = ("botocore", "urllib3")


class LambdaLoggerHandler(logging.Handler):
    """Stands where Lambda's runtime puts its own: it writes what its formatter makes and adds no end of line."""

    def __init__(self) -> None:
        """Write nothing yet."""
        super().__init__()
        self.written = io.StringIO()

    def emit(self, record: logging.LogRecord) -> None:
        """Write one."""
        self.written.write(self.format(record))

    def lines(self) -> list[dict[str, Any]]:
        """Return what was written."""
        return [json.loads(line) for line in self.written.getvalue().splitlines()]


@contextmanager
def root(*handlers: logging.Handler) -> Iterator[logging.Logger]:
    """Yield the root logger of a process that just started: these *handlers*, and Python's default level."""
    logger = logging.getLogger()
    before, levels = (logger.handlers, logger.level), {name: logging.getLogger(name).level for name in QUIET}
    logger.handlers = [*handlers]
    logger.setLevel(logging.WARNING)
    try:
        yield logger
    finally:
        logger.handlers, level = before
        logger.setLevel(level)
        for name, old in levels.items():
            logging.getLogger(name).setLevel(old)


@pytest.fixture
def on_lambda(settings: Mapping[str, str]) -> Iterator[LambdaLoggerHandler]:
    """Lambda's own handler at the root logger, before the function starts."""
    handler = LambdaLoggerHandler()
    with root(handler), environment({**settings, **FUNCTION}):
        yield handler


def work(functions: Functions) -> None:
    """Start the worker, which of all functions is the one of this process, and let it work off its queue."""
    functions.handlers["worker"] = handler_of("worker")
    url = command_addresses(functions.resources.settings)["default"]
    assert functions.run("worker", functions.event(url)) == []


def test_an_info_of_a_body_is_written_with_its_task_and_its_extra_stays_below_the_top(
    on_lambda: LambdaLoggerHandler, functions: Functions
) -> None:
    hostile = {"_aws": {"CloudWatchMetrics": []}, "level": "ERROR", "order": 7, "task_id": "mine"}
    result = note.delay("at work", hostile)
    work(functions)
    (line,) = [line for line in on_lambda.lines() if line["message"] == "at work"]
    assert (line["level"], line["service"], line["logger"]) == ("INFO", "sedano-worker", "tests.functions.corner")
    assert (line["task"], line["task_id"], line["attempt"]) == (note.name, result.id, 0)
    assert line["trace_id"] == result.id.replace("-", "")
    assert line["fields"] == hostile
    assert "_aws" not in line


def test_the_librarys_own_lines_are_not_written_a_second_time(
    on_lambda: LambdaLoggerHandler, functions: Functions, caplog: pytest.LogCaptureFixture
) -> None:
    note.delay("at work", {})
    work(functions)
    assert "task failed" in caplog.messages
    assert [line["message"] for line in on_lambda.lines()] == ["at work"]


@pytest.mark.parametrize(
    ("variables", "level"),
    [
        ({}, logging.INFO), ({"AWS_LAMBDA_LOG_LEVEL": "WARN"}, logging.WARNING), ({"AWS_LAMBDA_LOG_LEVEL": "TRACE"}, logging.DEBUG),
        ({"POWERTOOLS_LOG_LEVEL": "debug", "AWS_LAMBDA_LOG_LEVEL": "INFO"}, logging.DEBUG), ({"POWERTOOLS_LOG_LEVEL": "x"}, logging.INFO),
    ],
)  # fmt: skip
def test_the_level_is_info_unless_the_environment_names_one(variables: Mapping[str, str], level: int) -> None:
    with root(LambdaLoggerHandler()) as logger:
        write_lines("sedano-worker", variables)
        assert logger.level == level
        assert all(logging.getLogger(name).level == max(level, logging.WARNING) for name in QUIET)


def test_a_host_without_a_handler_gets_one(capsys: pytest.CaptureFixture[str]) -> None:
    with root() as logger:
        write_lines("sedano-worker", {})
        logging.getLogger("shop").info("at %s", "work")
        assert len(logger.handlers) == 1
    assert json.loads(capsys.readouterr().out)["message"] == "at work"


def test_what_cannot_be_written_as_json_loses_no_line() -> None:
    circle: dict[str, Any] = {}
    circle["self"] = circle
    try:
        raise ValueError("no\nsuch card ☂")
    except ValueError as error:
        record = logging.makeLogRecord(
            {"name": "shop", "msg": "x", "levelname": "ERROR", "circle": circle, "exc_info": (ValueError, error, error.__traceback__)}
        )
    text = LineFormatter("s").format(record)
    line = json.loads(text)
    assert "\n" not in text
    assert text.isascii()
    assert line["fields"] == {"circle": "<dict>"}
    assert line["exception"].endswith("ValueError: no\nsuch card ☂")
