"""The figures that a report is judged and compared by: shares, counts, percentiles and dollars, from what `gather` returns. Pure.

The page carries them as JSON (`carried`), so that a later report can be compared with it (`read_back`), and a program can read them. A
*threshold* is one comparison, such as ``failed>1%``: a report that exceeds one has not passed.
"""

import html
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from glue_jobs.pipeline.report.words import count, dollars, lasting, share
from sedano.errors import OptionError

Content = Mapping[str, Any]
Figures = dict[str, float | None]

SCHEMA: Final = "sedano.report/1"
PERCENTILES: Final = ("p50", "p95", "p99")
LATENCIES: Final = {"wait": "wait_seconds", "run": "run_seconds", "total": "total_seconds"}
_UNITS: Final = {"share": {"%": 0.01, "": 1.0}, "seconds": {"s": 1.0, "": 1.0, "ms": 1e-3, "min": 60.0, "h": 3600.0}}
_THRESHOLD = re.compile(r"\s*(\w+)\s*(>=|<=|>|<)\s*(\d{1,12}(?:\.\d{1,9})?)\s*(%|s|ms|min|h|\$)?\s*")
_EXCEEDS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    ">": lambda value, limit: value > limit, ">=": lambda value, limit: value >= limit,
    "<": lambda value, limit: value < limit, "<=": lambda value, limit: value <= limit,
}  # fmt: skip
_MARK = '<meta name="sedano-report" content="'


class Threshold(NamedTuple):
    """The comparison *text* that a report must not meet: the *figure*, the *comparison* and the *limit*, in the figure's own unit."""

    text: str
    figure: str
    comparison: str
    limit: float


class Judged(NamedTuple):
    """A *threshold* with the *value* of its figure, None where the history has none; *exceeded*: the report has not passed."""

    threshold: Threshold
    value: float | None
    exceeded: bool


class Outcomes(NamedTuple):
    """How many *tasks* there are, and how many *succeeded* and *failed* for good."""

    tasks: int
    succeeded: int
    failed: int


def outcomes(content: Content) -> Outcomes:
    """Return the outcomes of all tasks."""
    states = content["states"]
    return Outcomes(sum(states.values()), states.get("SUCCESS", 0), states.get("FAILURE", 0) + states.get("POISON", 0))


def figures(content: Content) -> Figures:
    """Return the figures of a report by name; None: the history has none, for example no task has ended."""
    states, latency, cost = content["states"], content["latency"]["all"], content["cost"]
    tasks, succeeded, failed = outcomes(content)
    percentiles = {f"{name}_{p}": latency.get(f"{column}_{p}") for name, column in LATENCIES.items() for p in PERCENTILES}
    return {
        "tasks": tasks, "succeeded": succeeded / tasks if tasks else None, "failed": failed / tasks if tasks else None,
        "poison": states.get("POISON", 0), "quarantined": content["quarantined"], **percentiles,
        "cost": cost["nanodollars"] / 1_000 / tasks if tasks else None,
    }  # fmt: skip


def kind_of(figure: str) -> str:
    """Return what a figure is: ``share``, ``seconds``, ``dollars`` (of a million tasks) or ``count``."""
    kinds = {"succeeded": "share", "failed": "share", "cost": "dollars"}
    return "seconds" if figure.partition("_")[0] in LATENCIES else kinds.get(figure, "count")


NAMES: Final = ("tasks", "succeeded", "failed", "poison", "quarantined", *[f"{n}_{p}" for n in LATENCIES for p in PERCENTILES], "cost")


def threshold(text: str) -> Threshold:
    """Read a comparison: ``failed>1%``, ``wait_p95>30s``, ``poison>0``, ``cost>2.5$`` (dollars for a million tasks), ``tasks<100``.

    Raises:
        OptionError: it is not one; the message lists the figures or the units.
    """
    found = _THRESHOLD.fullmatch(text)
    if found is None:
        raise OptionError(f"--fail-on: {text!r} is not a comparison; write for example failed>1%, wait_p95>30s, poison>0 or tasks<100")
    name, comparison, number, unit = found[1], found[2], found[3], found[4] or ""
    if name not in NAMES:
        raise OptionError(f"--fail-on: {text!r}: there is no figure {name!r}; the figures are {', '.join(NAMES)}")
    units = _UNITS.get(kind_of(name), {"": 1.0, "$": 1.0} if kind_of(name) == "dollars" else {"": 1.0})
    if unit not in units:
        known = ", ".join(one for one in units if one) or "none"
        raise OptionError(f"--fail-on: {text!r}: {name} has another unit than {unit!r}; its units: {known}")
    return Threshold(text=text.strip(), figure=name, comparison=comparison, limit=float(number) * units[unit])


def judged(found: Figures, thresholds: Iterable[Threshold]) -> list[Judged]:
    """Return each threshold with its figure; one without a figure is not exceeded."""
    values = [(one, found[one.figure]) for one in thresholds]
    return [Judged(one, value, value is not None and _EXCEEDS[one.comparison](value, one.limit)) for one, value in values]


def verdict(judgements: Sequence[Judged]) -> str:
    """Return the verdict in one sentence; empty without thresholds."""
    if not judgements:
        return ""
    exceeded = [one for one in judgements if one.exceeded]
    if exceeded:
        return f"Failed: {', '.join(f'{one.threshold.text} ({shown(one.threshold.figure, one.value)})' for one in exceeded)}."
    unknown = sum(one.value is None for one in judgements)
    return f"Passed: {len(judgements)} of {len(judgements)} thresholds hold." if not unknown else (
        f"Passed: {len(judgements) - unknown} of {len(judgements)} thresholds hold; {unknown} had no figure to compare."
    )  # fmt: skip


def shown(figure: str, value: float | None) -> str:
    """Return a figure with its unit, as a person reads it."""
    if value is None:
        return "–"
    kinds: Mapping[str, Callable[[float], str]] = {
        "share": lambda value: share(value, 1.0), "seconds": lasting, "dollars": lambda value: f"{dollars(value * 1e9)} /M", "count": count,
    }  # fmt: skip
    return kinds[kind_of(figure)](value)


def carried(content: Content) -> str:
    """Return the tag that carries the figures of a report in its page."""
    data = {"schema": SCHEMA, "begin": content["begin"], "end": content["end"], "figures": figures(content)}
    return f'{_MARK}{html.escape(json.dumps(data, sort_keys=True), quote=True)}">'


def read_back(text: str, name: str) -> Figures:
    """Return the figures that the page *text* carries, which was read from *name*.

    Raises:
        OptionError: it has no figures of this schema.
    """
    begin = text.find(_MARK)
    try:
        data = json.loads(html.unescape(text[begin + len(_MARK) : text.index('"', begin + len(_MARK))])) if begin >= 0 else {}
        if data["schema"] != SCHEMA:
            raise KeyError("schema")
        found = {one: data["figures"].get(one) for one in NAMES}
        if not all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in found.values()):
            raise KeyError("figures")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise OptionError(f"--diff: {name} carries no figures of {SCHEMA}; name a page that `sedano report` wrote") from None
    return found
