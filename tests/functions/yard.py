"""A yard: the user's module whose orders leave in their order; what it did is noted, and it can be told to die."""

from sedano import Retry, Sedano

app = Sedano("yard", queues=("default", "bulk", "orders.fifo"), retry=Retry(max_retries=2, interval_start=1, jitter=False))
began: list[tuple[str, int]] = []
fails: set[tuple[str, int]] = set()
dies: set[tuple[str, int]] = set()


class Killed(BaseException):
    """The function's process is gone."""


def _met(where: set[tuple[str, int]], key: str, step: int) -> bool:
    """Tell, once, whether the call of *key* and *step* is among these."""
    if (key, step) not in where:
        return False
    where.remove((key, step))
    return True


@app.task(queue="orders.fifo", serial_key="{key}")
def ship(key: str, step: int) -> int:
    """Send a step of an order off."""
    began.append((key, step))
    if _met(dies, key, step):
        raise Killed
    if _met(fails, key, step):
        raise ConnectionError("the lorry is late")
    return step


@app.task(queue="orders.fifo", serial_key="{key}", concurrency=0)
def stop(key: str) -> None:
    """Never run: it is suspended as it is declared."""
    raise AssertionError(f"{key}: what is suspended ran")
