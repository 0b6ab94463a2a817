"""The shop on a machine whose clock is four minutes ahead."""

import time

from sedano import Sedano
from sedano.aws.machine import SystemClock

SystemClock.now = staticmethod(lambda: time.time() + 240.0)
app = Sedano("shop")


@app.task
def pay(order: int) -> list[object]:
    """A task like any other."""
    return ["ahead", order]


@app.task
def late(order: int) -> list[object]:
    """Is done at once."""
    return ["ahead", order]
