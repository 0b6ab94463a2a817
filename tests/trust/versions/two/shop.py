"""The shop after an upgrade: an argument more, a task renamed, one gone, one new."""

from sedano import Sedano

app = Sedano("shop")


@app.task
def pay(order: int, note: str = "none") -> list[object]:
    """Which version was paid, what, and what was noted."""
    return ["two", order, note]


@app.task(name="shop.bill")
def invoice(order: int) -> list[object]:
    """What `bill` was: whoever still publishes under the old name is understood."""
    return ["two", order]


@app.task
def refund(order: int) -> list[object]:
    """Is new."""
    return ["two", order]
