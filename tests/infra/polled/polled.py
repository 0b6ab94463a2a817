"""An application with a poll over HTTP whose credentials are a parameter, and one of a function."""

from typing import Any

from sedano import Sedano, every
from sedano.polls import Polled, http

app = Sedano("polled")
orders = http("https://api.example.com/orders", headers={"Authorization": "ssm:/shop/orders/authorization"})


def nothing(cursor: Any) -> Polled | None:
    """Return no page."""
    return None


@app.poll("orders", every(minutes=5), orders, identity="id")
@app.poll("nothing", every(minutes=5), nothing)
@app.task
def ordered(order: dict[str, Any]) -> None:
    """Nothing."""
