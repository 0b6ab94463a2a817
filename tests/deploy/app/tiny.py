"""The smallest application: one task and two queues, for the tests that deploy it."""

from sedano import Sedano

app = Sedano("tiny", queues=("default", "bulk"))


@app.task
def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b
