"""The app of the stories that run under every host (`tests.stories.life`): its bodies write to a file, since a host may be a process."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from sedano import Retry, Sedano
from sedano.engine.worker.settings import WorkerSettings
from sedano.testing.crash_points import Died

POISON_AFTER = 2
app = Sedano(
    "life", queues=("default",), retry=Retry(max_retries=3, interval_start=0.1), worker=WorkerSettings(poison_after=POISON_AFTER)
)  # fmt: skip
interrupt: list[Callable[[], None]] = []
"""What a host without processes does while `stays` runs for the first time."""


def noted(file: str, text: str) -> int:
    """Write a line, and return how many like it there are."""
    with Path(file).open("a") as notes:
        notes.write(f"{text}\n")
    return Path(file).read_text().splitlines().count(text)


@app.task(name="life.add")
def add(file: str, one: int, two: int) -> int:
    """Add."""
    noted(file, "add")
    return one + two


@app.task(name="life.total")
def total(numbers: list[int], file: str) -> int:
    """Add what the members of a chord returned."""
    noted(file, "total")
    return sum(numbers)


@app.task(name="life.flaky")
def flaky(file: str) -> str:
    """Fail twice."""
    if noted(file, "flaky") < 3:
        raise ConnectionError("not yet")
    return "done"


@app.task(name="life.fails", retry=False)
def fails(file: str) -> None:
    """Fail."""
    noted(file, "fails")
    raise ValueError("for good")


@app.task(name="life.kills")
def kills(file: str) -> None:
    """End the process that runs it, each time."""
    noted(file, "kills")
    raise Died


@app.task(name="life.stays")
async def stays(file: str, until: str) -> str:
    """Run until a file is there; what a host does meanwhile is in `interrupt`."""
    noted(file, "stays")
    while interrupt:
        interrupt.pop()()
    while not Path(until).exists():  # noqa: ASYNC110, ASYNC240 - another process makes the file
        await asyncio.sleep(0.01)
    return "done"
