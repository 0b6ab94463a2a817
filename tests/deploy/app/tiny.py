"""The smallest application: one task, for the tests that deploy it."""

from sedano import Sedano

app = Sedano("tiny")


@app.task
def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b
