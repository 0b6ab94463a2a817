"""A module whose task comes round: what the scheduler function loads in its tests."""

from sedano import Sedano, every

app = Sedano("clockwork")


@app.periodic(every(30), schedule="often", args=(7,))
@app.task
def tick(number: int) -> int:
    """The number."""
    return number
