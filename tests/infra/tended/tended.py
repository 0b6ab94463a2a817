"""An application that is looked after by the controller: a queue has a budget, a health check is shared, and spending has limits."""

from sedano import Sedano

app = Sedano("tended", queues=("default", "bulk"))
app.budget("bulk", most=40)
app.spending("2.50 USD")
app.spending("0.50 USD", tenant="acme")
mail = app.health_check("mail", every=120, shared=True)


@app.task(queue="bulk")
def send(to: str) -> str:
    """Tell to whom it was sent."""
    return to
