"""The app that the commands of docs/command_line.md are about: `shop.tasks:app` there, `tests.docs.shop:app` here."""

from sedano import Sedano

app = Sedano("shop", queues=("default", "reports"))


@app.task(name="shop.tasks.add")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@app.task(name="shop.tasks.nightly", queue="reports")
def nightly() -> None:
    """Write the report of the night."""
