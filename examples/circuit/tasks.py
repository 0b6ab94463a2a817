"""A task that needs a carrier that is down at times: the circuit then stops the calls for a while, and messages wait.

    make local APP=examples.circuit.tasks:app CODE=.
"""

from sedano import Breaker, Retry, Sedano

app = Sedano("shipping", retry=Retry(max_retries=10, interval_start=1, jitter=False))
down = {"carrier": False}
"""The services that are down in this process."""


@app.task(circuit=Breaker(failures=3, open_for=30, growth="exponential", open_most=300))
def ship(order: int) -> str:
    """Hand an order to the carrier."""
    if down["carrier"]:
        raise ConnectionError("the carrier does not answer")
    return f"order {order} is on its way"
