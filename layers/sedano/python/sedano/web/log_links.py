"""The address at which CloudWatch shows the log lines of one task: the worker's log group, the time of the task, and its id. Pure.

The console reads the query from the part of the address after `#`, which browsers do not send. In it, each character of a value that is
not a letter, a digit or one of `_-.` is written as `*` and two hexadecimal digits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from sedano.model.history.attempts import Attempt
from sedano.views.task import TaskView

AROUND_S = 60.0
"""The seconds before the task was received, and after it ended, in which log lines are searched."""
LONGEST_S = 900.0
"""The longest run of a Lambda function: the time in which an attempt without an end may have written log lines."""
MOST_LINES = 200
HOST = "console.aws.amazon.com"
_REGION = re.compile(r"[a-z]{2}-[a-z]+-\d").fullmatch
"""A Region of AWS's main partition. Other partitions have another console."""
_ID = re.compile(r"[A-Za-z0-9_.:/-]{1,256}").fullmatch
"""An id that needs no escaping in the query language."""


class LogPlace(NamedTuple):
    """The place of the worker's logs: the *region*, and the name of the log *group*."""

    region: str
    group: str


def place_of(environment: Mapping[str, str], region: str | None) -> LogPlace | None:
    """Return the place of the logs of the stage that *environment* describes, or None: a local endpoint has no console."""
    group, region = environment.get("SEDANO_WORKER_LOGS", ""), region or environment.get("AWS_REGION", "")
    is_aws = not any(name == "AWS_ENDPOINT_URL" or name.startswith("AWS_ENDPOINT_URL_") for name in environment)
    return LogPlace(region, group) if is_aws and group and region else None


def logs_of(view: TaskView, place: LogPlace) -> str:
    """Return the address of the log lines of a task; empty if its time is unknown, or its id or the Region cannot be part of an address."""
    window = _window(view)
    if window is None or not _ID(view.id) or not _REGION(place.region) or not place.group:
        return ""
    query = f'fields @timestamp, level, message, @message | filter @message like "{view.id}" | sort @timestamp asc | limit {MOST_LINES}'
    begin, end = (f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}.000Z" for at in window)
    parts = (
        f"end~'{_written(end)}", f"start~'{_written(begin)}", "timeType~'ABSOLUTE", "tz~'UTC", f"editorString~'{_written(query)}",
        f"source~(~'{_written(place.group)})",
    )  # fmt: skip
    where = f"https://{place.region}.{HOST}/cloudwatch/home?region={place.region}"
    return f"{where}#logsV2:logs-insights$3FqueryDetail$3D~({'~'.join(parts)})"


def _window(view: TaskView) -> tuple[float, float] | None:
    """Return the time in which the attempts of a task may have written log lines; None if it has no attempts."""
    spans = [span for span in map(_span, view.attempts) if span is not None]
    if not spans:
        return None
    return min(begin for begin, _ in spans) - AROUND_S, max(end for _, end in spans) + AROUND_S


def _span(attempt: Attempt) -> tuple[float, float] | None:
    if attempt.received is None:
        return None
    return attempt.received, attempt.received + (LONGEST_S if attempt.ran is None else attempt.ran)


def _written(text: str) -> str:
    """Return *text* encoded as a value in the console's address."""
    return "".join(map(_character, text))


def _character(one: str) -> str:
    return one if one.isascii() and (one.isalnum() or one in "_-.") else "".join(f"*{byte:02x}" for byte in one.encode())
