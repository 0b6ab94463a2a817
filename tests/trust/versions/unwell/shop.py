"""The shop with tasks that do to their worker what bugs do: they run too long, use up its memory, and are late."""

import os
import signal
import time

from sedano import Sedano, current

app = Sedano("shop")


@app.task
def pay(order: int) -> list[object]:
    """A task like any other."""
    return ["one", order]


@app.task
def slow(order: int) -> list[object]:
    """Runs for longer than its function may, the first time."""
    if current().fence == 1:
        time.sleep(60)
    return ["slow", order]


@app.task
def greedy(order: int) -> list[object]:
    """Ends as Lambda ends a worker that uses more memory than it has, the first time."""
    if current().fence == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return ["greedy", order]


@app.task
def deadly(order: int) -> list[object]:
    """The same, each time."""
    os.kill(os.getpid(), signal.SIGKILL)
    return [order]


@app.task
def late(order: int) -> list[object]:
    """Works until somebody else has done it."""
    own = app.result(current().id)
    while not own.ready():
        time.sleep(0.05)
    return ["late", order]
