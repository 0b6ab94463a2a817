"""An app whose bodies tell what they did, and stories of it by name: for deaths at any call (`test_crash_points.py`)."""

from collections.abc import Callable, Mapping
from typing import Any

from sedano import DomainEvent, Sedano, chain, every, testing
from sedano.testing import World
from sedano.testing.crash_points import CrashWatch, Point

app = Sedano("mortal")
SAID: list[str] = []


@app.task(name="plain")
def plain(order: str) -> str:
    """Tell."""
    SAID.append(order)
    return order


@app.task(name="waits")
async def waits(order: str) -> str:
    """Publish from an async body."""
    plain.delay(f"{order} of waits")
    return order


@app.task(name="locks")
def locks(order: str) -> None:
    """Call ports in the body, and swallow what no body should."""
    try:
        with app.lock("till"):
            SAID.append(order)
    except BaseException:  # noqa: BLE001 - a death stays one
        return


@app.task(name="unclaimed", delivery="at_least_once", ignore_result=True)
def unclaimed(order: str) -> None:
    """Tell, without a claim."""
    SAID.append(order)


@app.periodic(every(60), name="tick")
def tick() -> None:
    """Tell."""
    SAID.append("tick")


@app.event
class Sold(DomainEvent):
    """Something was sold."""

    order: str


@Sold.subscribe
@app.task(name="ship")
def ship(order: str) -> None:
    """Tell."""
    SAID.append(f"ship {order}")


STORIES: Mapping[str, Callable[[World], Any]] = {
    "plain": lambda _: plain.delay("a"),
    "chain": lambda _: chain(plain.s("a"), waits.s())(),
    "lock": lambda _: locks.delay("a"),
    "event": lambda _: Sold.delay(order="a"),
    "later": lambda _: plain.apply_async(args=("a",), countdown=5_000),
    "periodic": lambda world: world.elapse(90.0),
}


def play(name: str, point: Point | None = None) -> tuple[set[str], CrashWatch]:
    """Play a story to its end; return what its bodies said, once or more often, and what was seen of its calls."""
    SAID.clear()
    watch = CrashWatch(point)
    with testing.world(app, watch=watch) as world:
        STORIES[name](world)
        world.drain()
    return set(SAID), watch
