"""The tasks that the processes of the fight run: short ones, ones that outlive their claim, ones that fail first, chains and chords."""

from __future__ import annotations

import random
import time

from sedano import Retry, Sedano, chord, current

app = Sedano("fight", retry=Retry(max_retries=2, interval_start=1.0, jitter=False))
LONG_S = 6.0
"""Longer than a claim and than a message is hidden: somebody else takes the task over while this body runs."""


class Pace:
    """How many of the bodies are long ones."""

    long = 0.0


def _work() -> None:
    """Take a while, which is the subject here."""
    time.sleep(LONG_S if random.random() < Pace.long else 0.1 * random.random())


@app.task(name="plain")
def plain(n: int) -> int:
    """Work."""
    _work()
    return n


@app.task(name="flaky")
def flaky(until: int) -> int:
    """Fail until attempt *until*."""
    _work()
    if current().attempt < until:
        raise ValueError("not yet")
    return until


@app.task(name="chain")
def chain(n: int) -> int:
    """Publish a follow-up."""
    _work()
    plain.delay(n)
    return n


@app.task(name="total")
def total(results: list[int]) -> int:
    """Add what the members of a chord returned: wrong when it comes before they have ended."""
    return sum(results)


MEMBERS = 4


def publish(dice: random.Random) -> None:
    """Publish something."""
    kind = dice.choice(("plain", "plain", "flaky", "chain", "chord", "election"))
    if kind == "chord":
        chord(plain.s(n) for n in range(MEMBERS))(total.s())
    elif kind == "election":
        plain.s(7).election(timeout=2)
    else:
        app.send_task(kind, (1,))
