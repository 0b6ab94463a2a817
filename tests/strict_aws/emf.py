"""What CloudWatch drops or cuts of a log line, and of the metrics that it embeds (EMF): it says so to nobody."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sedano.testing.strict_aws.limits import Trip, bytes_of, over


def problems(line: str) -> Iterator[Trip]:
    """Yield what CloudWatch would not keep of a line."""
    yield from over("logs.event", "bytes of a log event", bytes_of(line))
    try:
        entry = json.loads(line)
    except ValueError:
        return
    embedded = entry.get("_aws") if isinstance(entry, dict) else None
    for directive in (embedded or {}).get("CloudWatchMetrics", ()):
        yield from _metric_problems(directive["Metrics"], entry)
        for names in directive["Dimensions"]:
            yield from _dimension_problems(names, entry)


def _metric_problems(metrics: list[Mapping[str, str]], entry: Mapping[str, Any]) -> Iterator[Trip]:
    yield from over("emf.metrics", "metrics of a directive", len(metrics))
    for metric in metrics:
        value = entry.get(metric["Name"])
        if value is None:
            yield Trip("emf.member", f"the metric {metric['Name']} is not a member of the line")
        yield from over("emf.values", f"values of {metric['Name']}", len(value) if isinstance(value, list) else 1)


def _dimension_problems(names: list[str], entry: Mapping[str, Any]) -> Iterator[Trip]:
    yield from over("emf.dimensions", "dimensions", len(names))
    for name in names:
        text = entry.get(name)
        if not isinstance(text, str) or not text.strip():
            yield Trip("emf.dimension", f"the dimension {name} is blank or not a text: {text!r}")
        elif not text.isascii() or not text.isprintable():
            yield Trip("emf.ascii", f"the dimension {name} is not printable ASCII: {text[:40]!r}")
        else:
            yield from over("emf.value", f"characters of the dimension {name}", len(text))
