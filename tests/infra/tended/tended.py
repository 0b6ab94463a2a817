"""An application that is looked after by the controller: one of its queues has a budget, and one health check is shared."""

from sedano import Sedano

app = Sedano("tended", queues=("default", "bulk"))
app.budget("bulk", most=40)
mail = app.health_check("mail", every=120, shared=True)


@app.task(queue="bulk")
def send(to: str) -> str:
    """Tell to whom it was sent."""
    return to
