"""The shop as it is deployed before something goes wrong around it."""

from sedano import Sedano

app = Sedano("shop")


@app.task
def pay(order: int) -> list[object]:
    """A task like any other."""
    return ["one", order]
