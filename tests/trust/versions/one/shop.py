"""The shop as it is deployed first."""

from sedano import Sedano

app = Sedano("shop")


@app.task
def pay(order: int) -> list[object]:
    """Which version was paid, and what."""
    return ["one", order]


@app.task
def bill(order: int) -> list[object]:
    """Is called `invoice` later, and keeps its name in messages."""
    return ["one", order]


@app.task
def fax(order: int) -> list[object]:
    """Is gone later."""
    return ["one", order]
