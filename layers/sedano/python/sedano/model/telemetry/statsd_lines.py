"""The lines of the StatsD protocol, and the datagrams that carry them. Pure.

A line is `sedano.TasksSucceeded:3|c|#task:shop.add`: the name, the sum since the last line, and the dimensions as tags. Tags are an
extension that the CloudWatch agent, the Datadog agent, Telegraf, Vector and statsd_exporter read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

MOST_BYTES = 1_432
"""How many bytes a datagram has at most, so that an Ethernet frame carries it."""
LONGEST_VALUE = 200
"""How many characters of a dimension's value a line holds: that is the most that Datadog reads."""
PREFIX = "sedano."
_APART = re.compile(r"[|#,:@\s\x00-\x1f\x7f]")


def statsd_line(metric: str, value: float, dimensions: Iterable[tuple[str, str]]) -> str | None:
    """Return the line that adds *value* to the counter *metric*; None for a value that is not finite."""
    if not math.isfinite(value):
        return None
    number = str(int(value)) if value == int(value) else repr(value)
    tags = ",".join(f"{_text(name)}:{_text(text)}" for name, text in dimensions)
    return f"{PREFIX}{_text(metric)}:{number}|c" + (f"|#{tags}" if tags else "")


def datagrams(lines: Iterable[str], most: int = MOST_BYTES) -> Iterator[bytes]:
    """Yield *lines* as datagrams of at most *most* bytes; a longer line has a datagram of its own."""
    held = b""
    for line in lines:
        data = line.encode("utf-8", "replace")
        if held and len(held) + 1 + len(data) > most:
            yield held
            held = data
        else:
            held = held + b"\n" + data if held else data
    if held:
        yield held


def _text(text: str) -> str:
    return _APART.sub("_", text)[:LONGEST_VALUE]
