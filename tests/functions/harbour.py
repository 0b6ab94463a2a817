"""An application with boot steps and a service, which writes down what it did; `broken` steps fail."""

import threading

from sedano import Sedano

app = Sedano("harbour")
lines: list[str] = []
broken: set[str] = set()
running = threading.Event()


@app.boot
def database() -> None:
    """Start, or fail."""
    if "database" in broken:
        raise OSError("the database is away")
    lines.append("database")


@app.boot(after=["database"], optional=True)
def cache() -> None:
    """Start, or fail."""
    if "cache" in broken:
        raise OSError("the cache is away")
    lines.append("cache")


@app.service
async def prices() -> None:
    """Run."""
    running.set()


@app.task(name="land")
def land() -> None:
    """Write it down."""
    lines.append("land")
