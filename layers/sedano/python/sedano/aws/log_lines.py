"""The records of the user's own loggers in a function, as structured lines: from ``info`` on, each with its task.

Lambda's own formats drop a record's level or its `extra=`, or write every key of `extra=` at the line's top level, where CloudWatch reads
``_aws`` as metrics. Here these keys are under `fields`, like those of the library's own lines (`sedano.aws.telemetry`), a traceback under
`exception`, and `task`, `task_id`, `attempt` and `trace_id` at the top level while a body runs (`sedano.engine.task_log_records`).

An app that configures logging itself does so later, when its module is imported, and wins.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

LEVELS = ("POWERTOOLS_LOG_LEVEL", "AWS_LAMBDA_LOG_LEVEL")
"""The variables that may name the lowest level that is written; the first one that is set applies; INFO by default."""
QUIET = ("botocore", "urllib3")
"""Libraries that sedano uses, whose ``info`` records are about themselves; only their warnings are written."""
TASK = ("task", "task_id", "attempt", "trace_id")
_LAMBDAS = "LambdaLoggerHandler"
_OWN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName", "aws_request_id"}
_dump = json.JSONEncoder(separators=(",", ":"), default=str, skipkeys=True).encode


class LineFormatter(logging.Formatter):
    """Writes a record as one JSON line of ASCII. *end*: the text after the line, for a handler that adds none."""

    def __init__(self, service: str, end: str = "") -> None:
        """Name the *service* in each line."""
        super().__init__()
        self._service, self._end = service, end

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        named = dict(zip(TASK, getattr(record, "of_task", ("",) * len(TASK)), strict=True))
        line: dict[str, Any] = {
            "level": record.levelname, "message": record.getMessage(), "timestamp": _shown(record.created), "service": self._service,
            "logger": record.name, **{name: value for name, value in named.items() if value != ""},
        }  # fmt: skip
        if (request := record.__dict__.get("aws_request_id")) is not None:
            line["function_request_id"] = request
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        fields = {name: value for name, value in record.__dict__.items() if name not in _OWN and value != named.get(name)}
        if fields:
            line["fields"] = fields
        return _written(line) + self._end


def write_lines(service: str, environment: Mapping[str, str]) -> None:
    """Make the root logger of this process write such lines for *service*, from the level that the *environment* names."""
    root = logging.getLogger()
    named = next((environment[name] for name in LEVELS if environment.get(name)), "INFO").upper()
    level = logging.getLevelNamesMapping().get(named, logging.DEBUG if named == "TRACE" else logging.INFO)
    root.setLevel(level)
    for name in QUIET:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    if not root.handlers:
        root.addHandler(logging.StreamHandler(sys.stdout))
        root.handlers[0].setFormatter(LineFormatter(service))
        root.handlers[0].addFilter(_has_no_handler)
    for handler in root.handlers:
        if type(handler).__name__.startswith(_LAMBDAS):
            handler.setFormatter(LineFormatter(service, "\n"))
            handler.addFilter(_has_no_handler)


def _has_no_handler(record: logging.LogRecord) -> bool:
    """Leave out the library's own lines: their loggers write them (`sedano.aws.telemetry`)."""
    return not record.name.startswith("sedano-")


def _shown(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _written(line: dict[str, Any]) -> str:
    try:
        return _dump(line)
    except (ValueError, TypeError, RecursionError, AttributeError):  # the values of `extra=` cannot be written; the rest can
        return _dump({**line, "fields": {str(name): f"<{type(value).__name__}>" for name, value in line.get("fields", {}).items()}})
