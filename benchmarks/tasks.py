"""The measured tasks: they do nothing, so that only the code around them is measured."""

from __future__ import annotations

import asyncio

from sedano import Sedano

app = Sedano("bench")


@app.task(name="bench.add")
def add(a: int, b: int) -> int:
    """Claimed: one recorded effect, with a result."""
    return a + b


@app.task(name="bench.once", delivery="record_once")
def once(a: int, b: int) -> int:
    """Recorded once; runs may overlap."""
    return a + b


@app.task(name="bench.plain", delivery="at_least_once", ignore_result=True)
def plain(a: int, b: int) -> None:
    """At least once, without a result."""


waiting = Sedano("waiting")


@waiting.task(name="waiting.nap")
async def nap(seconds: float) -> float:
    """Wait, as for a network."""
    await asyncio.sleep(seconds)
    return seconds
