"""The telemetry of a program that publishes and reads: its log is Python's, and nothing is written to its stdout.

Each line goes to the logger `sedano`, whose handlers and level the program decides; a program that configures no logging sees warnings and
errors on stderr, which is Python's default. The fields follow the message; handlers that format them find them in the record's attribute
`sedano`. Metrics in CloudWatch's embedded format need a reader of the output, which only a deployed function has; here they are not
written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sedano.telemetry.python_logging import hand_over


class ProgramLog:
    """Telemetry (`sedano.ports.Telemetry`) over Python's logging.

    Args:
        counts: how many AWS calls were made by `service.Operation`; usually `Session.calls`.
    """

    def __init__(self, counts: Mapping[str, int]) -> None:
        """Write nothing yet."""
        self._calls = counts

    def log(self, level: str, message: str, /, **fields: Any) -> None:
        """Write one line; *level* is debug, info, warning or error."""
        hand_over(level, message, fields)

    def count(self, metric: str, value: float = 1, **dimensions: str) -> None:
        """Count nothing: CloudWatch does not read the output of a program."""

    def calls(self) -> Mapping[str, int]:
        """Return how many AWS calls were made so far, by `service.Operation`."""
        return dict(self._calls)

    def flush(self) -> None:
        """Do nothing: a line is written when it is logged."""
