"""The app of the simulated workers: tasks that take their time, fail, publish and fan out, and never ask who runs them."""

from __future__ import annotations

import greenlet

from sedano import Retry, Sedano, chord, current
from sedano.engine.worker.claims import GUARD_S
from tests.simulation.process import Process

SOON = Retry(max_retries=2, interval_start=2.0, jitter=False)
app = Sedano("chores", retry=SOON)


def _work() -> None:
    """Take a while: mostly little, sometimes longer than any invocation may, a zombie's until others may take over."""
    owner: Process = greenlet.getcurrent().owner  # type: ignore[attr-defined] # bodies run in actors
    world, draw = owner.world, owner.world.draw
    world.branches["bodies"] += 1
    if owner.unpunctual and draw() < 0.7:
        world.sleep(max(0.0, owner.until - world.now) + 2 * GUARD_S + 0.3 + 1.5 * draw())
    else:
        world.sleep(owner.takes())


@app.task(name="plain")
def plain(n: int) -> int:
    """Work."""
    _work()
    return n


@app.task(name="flaky")
def flaky(until: int) -> int:
    """Fail until attempt *until*; what an attempt published that will be retried is never sent."""
    plain.delay(until)
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


@app.task(name="once", delivery="record_once")
def once(n: int) -> int:
    """Work without a claim."""
    _work()
    return n


@app.task(name="elected")
def elected(n: int) -> int:
    """Work for whoever won."""
    _work()
    return n


@app.task(name="total")
def total(results: list[int]) -> int:
    """Add what the members of a chord returned."""
    return sum(results)


def publish(kind: str) -> None:
    """Publish one task of a *kind*."""
    if kind == "plain":
        plain.delay(1)
    elif kind == "later":
        plain.s(1).set(countdown=900).delay()
    elif kind == "flaky":
        flaky.delay(1)
    elif kind == "hopeless":
        flaky.delay(9)
    elif kind == "chain":
        chain.delay(1)
    elif kind == "once":
        once.delay(1)
    else:
        chord(plain.s(n) for n in range(2))(total.s())


EXPECTED = {
    "plain": {"plain": 1},
    "flaky": {"flaky": 1, "plain": 1},
    "hopeless": {"flaky": 1, "plain": 1},
    "chain": {"chain": 1, "plain": 1},
    "once": {"once": 1},
    "later": {"plain": 1},
    "chord": {"sedano.launch": 1, "plain": 2, "total": 1},
}
"""How many tasks of each name one of a kind comes to, however often anything is repeated."""
KINDS = (*("plain",) * 15, *("flaky",) * 3, *("chain",) * 4, *("once",) * 3, *("later",) * 2, "hopeless", *("chord",) * 2)
