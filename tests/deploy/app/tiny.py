"""The smallest application: one task that also comes round, two queues and one that keeps order, for the tests that deploy it."""

from sedano import Sedano, every

app = Sedano("tiny", queues=("default", "bulk", "orders.fifo"))


@app.periodic(every(days=1), schedule="daily", args=(1, 1))
@app.task
def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b
