"""The app of the world of circuits: two tasks that need what breaks now and then, one under its own failures, one under a health check."""

from __future__ import annotations

from typing import Any

import greenlet

from sedano import Breaker, Retry, Sedano
from sedano.model.health import HEALTHY, UNAVAILABLE, UNHEALTHY
from tests.simulation.process import Process

app = Sedano("circuits", retry=Retry(max_retries=2, interval_start=2.0, jitter=False))
CALLS = Breaker(failures=2, window=60.0, open_for=30.0, growth="exponential", open_most=120.0, shared=True, name="calls")
PAYMENTS = Breaker(
    failures=0, checks={"payments": {UNHEALTHY: 2, UNAVAILABLE: 1}}, window=60.0, open_for=20.0, growth="linear", open_most=60.0,
    shared=True, name="payments",
)  # fmt: skip
BREAKERS = {breaker.name: breaker for breaker in (CALLS, PAYMENTS)}
payments = app.health_check("payments", every=5.0, shared=True)


def _owner() -> Any:
    owner: Process = greenlet.getcurrent().owner  # type: ignore[attr-defined] # bodies and checks run in actors
    return owner


@payments
def answers() -> tuple[str, str]:
    """Look at what the world outside is like."""
    state = _owner().world.outside.state()
    return state, "" if state == HEALTHY else "no answer"


def _run(circuit: str) -> None:
    owner = _owner()
    world = owner.world
    world.outside.begins(owner, circuit)
    world.sleep(0.5 * world.draw() if world.draw() < 0.9 else 8.0 * world.draw())
    if world.outside.state() != HEALTHY:
        raise ConnectionError("no answer")


@app.task(name="call", circuit=CALLS)
def call(n: int) -> int:
    """Call what may be broken."""
    _run(CALLS.name)
    return n


@app.task(name="pay", circuit=PAYMENTS)
def pay(n: int) -> int:
    """Pay, while the check finds it possible."""
    _run(PAYMENTS.name)
    return n
