"""The smallest application: one task."""

from sedano import Sedano

app = Sedano("hello")


@app.task
def greet(name: str) -> str:
    """Return a greeting."""
    return f"Hello, {name}!"
