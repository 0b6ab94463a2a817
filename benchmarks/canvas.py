"""The numbers of the canvas: bytes of its messages, calls of its publication, writes and sends of its tasks, and how they grow."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarks.canvas_costs import BATCH, SETTINGS, Cost, add, cost_of, total
from benchmarks.report import Entry, Section, Target
from sedano import chain, chord, group
from sedano.canvas import Form
from sedano.model.canvas.page_reader import PAGE_MEMBERS

MOST_BYTES = 3_072
"""A page of up to 2 000 characters travels in the message."""
FEW, MANY, MOST = 10, 1_000, 100_000
BATCHES = 10
"""The most batches of the longest chain that are run, each of up to 101 links; the others do not differ from them."""


def chain_of(size: int) -> Form:
    """Return a chain of *size* tasks."""
    return chain(add.s(0, 1), *(add.s(1) for _ in range(size - 1)))


def chord_of(size: int) -> Form:
    """Return a chord of *size* members."""
    return chord((add.s(n, 1) for n in range(size)), total.s())


def sizes(most: int = MOST) -> list[Entry]:
    """Return the longest message of a chain and of a chord of 10, 1 000 and *most* tasks, without its arguments."""
    entries = []
    for size in (FEW, MANY, most):
        of_chain, _ = cost_of([chain_of(size)], BATCHES)
        of_chord, _ = cost_of([chord_of(size)])
        more = {"pages": float(of_chord.calls["put"]), "launches": float(of_chord.messages - size - 1)}
        entries.append(Entry(f"longest message, chain of {size}", of_chain.longest, "bytes", Target(MOST_BYTES)))
        entries.append(Entry(f"longest message, chord of {size}", of_chord.longest, "bytes", Target(MOST_BYTES), more))
    return entries


def group_calls(size: int = 10_000) -> tuple[dict[str, int], dict[str, int]]:
    """Return the calls of publishing a group of *size*: those of the process that publishes it, and those of the launches that continue it.

    Of the launches only the calls for launching are counted, not the claims and records of the members, which follow later.
    """
    own, _ = cost_of([group(add.s(n, 1) for n in range(size))], most_batches=0)
    pages = -(-size // PAGE_MEMBERS)
    parts = pages if pages > 1 else 0
    every, _ = cost_of([group(add.s(n, 1) for n in range(size))], most_batches=1 - (-parts // BATCH))
    every.calls.pop("send history")
    if every.messages != size + 1 + parts:
        raise AssertionError(f"{every.messages} messages of a group of {size} in {parts} parts")
    return dict(own.calls), dict(every.calls - own.calls)


def chord_costs(counts: Sequence[int] = (100, 1_000, 10_000)) -> list[Entry]:
    """Return the cost of a member of a chord, and its growth."""
    costs = {size: _checked(size) for size in counts}
    largest = max(counts)
    join = costs[largest].calls["arrive"] + costs[largest].calls["open_join"]
    entries = [Entry(f"join, of a chord of {largest}", join / largest, "writes", Target(1.02))]
    for size, cost in costs.items():
        more = {"sends": cost.calls["send"] / size, "reads": cost.calls["read"] / size, "CPU ms": 1e3 * cost.cpu / size}
        entries.append(Entry(f"all writes, a member of {size}", cost.writes / size, "writes", Target(3.02), more))
    for name, found in (("writes", "writes"), ("messages", "messages"), ("CPU", "cpu")):
        values = {size: float(getattr(cost, found)) for size, cost in costs.items()}
        target = None if name == "CPU" else Target(1.05)
        entries.append(Entry(f"growth of {name}, {min(counts)} to {largest}: exponent", slope(values), "", target))
    return entries


def _checked(size: int) -> Cost:
    cost, (value,) = cost_of([chord_of(size)])
    if value != size * (size + 1) // 2:
        raise AssertionError(f"a chord of {size} came to {value}")
    return cost


def slope(values: dict[int, float]) -> float:
    """Return the exponent by which *values* grow with their keys: 1 is linear."""
    few, many = min(values), max(values)
    return math.log(values[many] / values[few]) / math.log(many / few)


def chain_costs(size: int = MANY, beside: int = 10) -> list[Entry]:
    """Return the cost of a link of a chain: of a single chain, and of several that run at the same time."""
    single, values = cost_of([chain_of(size)])
    several, _ = cost_of([chain_of(size) for _ in range(beside)])
    if values != [size]:
        raise AssertionError(f"a chain of {size} came to {values}")
    history = single.calls["send history"] / size
    links = size * beside
    return [
        Entry(f"writes a link, chain of {size}", single.writes / size, "writes", Target(3.0)),
        Entry(
            f"sends a link, chain of {size} alone", single.calls["send"] / size, "sends", Target(0.02),
            {"history": history, "page reads": single.calls["get"] / size},
        ),
        Entry(
            f"all sends a link, {beside} chains side by side", (several.calls["send"] + several.calls["send history"]) / links, "sends",
            Target(1.2), {"writes": several.writes / links},
        ),
    ]  # fmt: skip


def alone(size: int = 10, *, inline: bool = True) -> tuple[int, int, int]:
    """Return the writes, the sends and the invocations of the workers for a chain of *size* that runs alone."""
    cost, _ = cost_of([chain_of(size)], settings=SETTINGS._replace(inline_links=inline))
    invocations = cost.calls["send history"]
    return cost.writes, cost.calls["send"] - 1 + invocations, invocations


def section_of_sizes() -> Section:
    """Return the bytes for the report."""
    entries = sizes()
    how = "the longest message, without its arguments; one process runs batches of ten"
    return Section("Bytes of a canvas's messages", how, entries)


def section_of_calls() -> Section:
    """Return the calls for the report."""
    own, later = group_calls()
    sends = own.pop("send") + later.pop("send")
    others = sum(own.values()) + sum(later.values())
    entries = [
        Entry("publish a group of 10 000", sends, "sends", Target(1_010), {"other calls of the publisher": float(sum(own.values()))}),
        Entry("other calls for it, a member", others / 10_000, "calls", Target(0.02)),
        *chord_costs(), *chain_costs(),
    ]  # fmt: skip
    return Section("Calls of a canvas", "counted at the ports; the publication of a group includes its launches", entries)
