"""Small charts: how many tasks are in each state, and how long a task waited and ran."""

from __future__ import annotations

from collections.abc import Mapping

from sedano.web.markup import NOTHING, Markup, el, join
from sedano.web.tables import badge, style

WIDE, HIGH = 1_000, 10
_ORDER = ("done", "running", "", "failed")


def progress(counts: Mapping[str, int]) -> Markup:
    """Return a bar of the numbers of tasks by state, those that succeeded first, with a legend."""
    total = sum(counts.values())
    if not total:
        return NOTHING
    parts, left = [], 0.0
    for state in sorted(counts, key=lambda state: (_ORDER.index(style(state)), state)):
        width = counts[state] / total * WIDE
        parts.append(el("rect", x=f"{left:.1f}", y=0, width=f"{width:.1f}", height=HIGH, class_=style(state) or "s0"))
        left += width
    label = ", ".join(f"{number} {state}" for state, number in sorted(counts.items()))
    bar = el(
        "svg", *parts, viewBox=f"0 0 {WIDE} {HIGH}", preserveAspectRatio="none", class_="bar", role="img",
        aria_label=f"{total} tasks: {label}",
    )  # fmt: skip
    items = join(el("li", f"{number} ", badge(state)) for state, number in sorted(counts.items()))
    return join((bar, el("ul", items, class_="legend")))


def span(waited: float | None, ran: float | None, longest: float) -> Markup:
    """Return the seconds that a task *waited* and *ran* as two bars on a scale up to *longest*; nothing while both are unknown."""
    if longest <= 0 or (waited is None and ran is None):
        return NOTHING
    first = (waited or 0.0) / longest * WIDE
    second = (ran or 0.0) / longest * WIDE
    bars = (
        el("rect", x=0, y=4, width=f"{first:.1f}", height=4, class_="wait"),
        el("rect", x=f"{first:.1f}", y=1, width=f"{max(second, 4.0):.1f}", height=10, class_="running"),
    )
    label = f"waited {waited or 0.0:.3f} s, ran {ran or 0.0:.3f} s"
    return el("svg", *bars, viewBox=f"0 0 {WIDE + 4} 12", preserveAspectRatio="none", class_="span", role="img", aria_label=label)
