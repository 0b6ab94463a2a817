"""A corner shop: the user's module that the functions of this room load."""

import logging
from typing import Any

from sedano import Sedano

log = logging.getLogger(__name__)
app = Sedano("corner", queues=("default", "bulk"))


@app.task
def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b


@app.task
def big(text: str) -> str:
    """A text, doubled."""
    return text + text


@app.task(retry=False)
def note(text: str, extra: dict[str, Any]) -> None:
    """Log a text and more, and fail."""
    log.info(text, extra=extra)
    raise ValueError("noted")


@app.event
class Sold:
    """Something was sold."""

    what: str


@Sold.subscribe
@app.task
def ship(what: str) -> str:
    """Send it."""
    return what


@Sold.subscribe
@app.task(queue="bulk")
def book(what: str) -> str:
    """Book it."""
    return what
