"""A canvas within an amount: it is estimated from the last day and published, or refused with estimate and amount."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from sedano import Sedano, chord, group, testing
from sedano.errors import PortMissing, SpendingExceeded
from sedano.ports.absent import absent
from sedano.views.costs import costs

app = Sedano("lab")


@app.task(name="lab.resize", retry=False)
def resize(seconds: float) -> float:
    """Take some time."""
    clock: Any = app.outlet.ports.clock
    clock.advance(seconds)
    return seconds


@app.task(name="lab.album")
def album(sizes: list[float]) -> int:
    """Take no time."""
    return len(sizes)


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The app in memory, after a canvas of ten tasks of two seconds each."""
    with testing.world(app) as world:
        chord((resize.s(2.0) for _ in range(10)), album.s()).delay()
        world.elapse(180)
        yield world


def test_a_canvas_costs_what_such_a_canvas_cost_in_the_history(world: testing.World) -> None:
    found = chord((resize.s(2.0) for _ in range(10)), album.s()).estimate()
    shown = sum(one.nanodollars for one in costs(app, 1).tasks if one.name in ("lab.resize", "lab.album"))
    assert (found.tasks, found.unknown) == (11, ())
    assert found.nanodollars == pytest.approx(shown, rel=0.1)


def test_a_canvas_within_its_amount_is_published_and_another_one_is_not(world: testing.World) -> None:
    work = group(resize.s(2.0) for _ in range(5))
    assert [one.get() for one in work.within("0.0001 USD").delay()] == [2.0] * 5
    sent = len(world.sent("lab.resize"))
    with pytest.raises(SpendingExceeded, match=r"within 0.00005 USD: 5 tasks cost about 0.00006\d* USD; publish less at once"):
        work.within("0.00005 USD").delay()
    assert len(world.sent("lab.resize")) == sent


def test_a_deployment_without_roll_ups_says_so_and_one_without_runs_refuses() -> None:
    with testing.world(app) as world:
        with pytest.raises(SpendingExceeded, match="not known, because no task ran in the last day"):
            resize.s(1.0).within("1 USD")
        app.attach(replace(world.ports, rollups=absent("rollups")))
        with pytest.raises(PortMissing, match="roll"):
            resize.s(1.0).estimate()
