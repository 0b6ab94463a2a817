"""Logs that Python's logging takes, for programs that configure it: the logger is `sedano`.

The fields follow the message; handlers that format them find them in the record's attribute `sedano`. A program that configures no logging
sees warnings and errors on stderr, which is Python's default.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from sedano.model.telemetry.log_entries import LEVELS, LogEntry

LOGGER = logging.getLogger("sedano")
_LONGEST = 500
"""The most characters that a line shows of one field."""


def hand_over(level: str, message: str, fields: Mapping[str, Any]) -> None:
    """Give one line to the logger, without control characters, if the program wants lines of this *level*."""
    if LOGGER.isEnabledFor(LEVELS[level]):
        LOGGER.log(LEVELS[level], "%s", _line(message, fields), extra={"sedano": fields})


class LoggingLogs:
    """Gives each line to Python's logging; the program decides where it goes."""

    def write(self, entry: LogEntry) -> None:
        """Give the line to the logger."""
        hand_over(entry.level, entry.message, entry.fields)


def _line(message: str, fields: Mapping[str, Any]) -> str:
    return ascii(" ".join([message, *(f"{name}={str(value)[:_LONGEST]}" for name, value in fields.items())]))[1:-1]
