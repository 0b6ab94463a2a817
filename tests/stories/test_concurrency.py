"""Concurrency limits as their users see them: permits are taken, given back, waited for and handed on."""

from collections.abc import Iterator
from typing import Any

import pytest

from sedano import Range, Sedano, current, testing
from sedano.model.limits.concurrency import Permit
from sedano.views import locks

app = Sedano("permits")
starts: list[tuple[float, Any]] = []
clock: Any = None


def _started(what: Any) -> None:
    starts.append((clock.now(), what))


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The app in memory."""
    global clock  # noqa: PLW0603 - bodies have no other way to the test's clock
    starts.clear()
    free[0] = 3
    with testing.world(app) as built:
        clock = built.clock
        yield built


@app.task(name="draw", concurrency=2)
def draw(n: int) -> tuple[int, int]:
    """Draw, two at a time."""
    _started((current().permit, current().token))
    return current().permit, current().token


@app.task(name="paint", concurrency=1, concurrency_key="{wall}")
def paint(wall: str) -> None:
    """Paint one wall at a time."""
    _started(wall)


@app.task(name="never", concurrency=0)
def never() -> None:
    """Wait until it is resumed."""
    _started("never")


free = [3]


@app.task(name="elastic", concurrency=Range(1, 2, lambda: free[0]))
def elastic() -> None:
    """Run as often at a time as there is room for."""
    _started(current().permit)


def hold(world: testing.World, name: str, permits: int) -> list[Any]:
    """Let another worker hold so many permits of *name*, each for a minute longer than the one before."""
    now = int(world.clock.now() * 1000)
    held = [Permit(n, now, f"other-{n}", f"other {n}", now + 60_000 * (n + 1)) for n in range(permits)]
    for permit in held:
        assert world.ports.limits.take(name, permit, "", now).done
    return held


def test_tasks_run_under_permits_and_give_them_back(world: testing.World) -> None:
    draw.delay(1)
    world.drain()
    draw.delay(2)
    world.drain()
    assert [permit for _, (permit, _) in starts] <= [1, 1]
    assert all(permit.expires == 0 for permit in world.ports.limits.board("draw/").permits.values())


def test_who_finds_no_permit_waits_until_one_is_over(world: testing.World) -> None:
    hold(world, "draw/", 2)
    began = world.clock.now()
    draw.delay(1)
    world.drain()
    assert starts[0][0] - began == pytest.approx(61.5, abs=1.5), "the dead holder's lease, and the guard"


def test_who_waits_is_woken_when_a_permit_is_given_back(world: testing.World) -> None:
    held = hold(world, "paint/hall", 1)
    paint.delay("hall")
    paint.delay("cellar")
    world.step()
    assert [wall for _, wall in starts] == ["cellar"]
    board = world.ports.limits.give_back("paint/hall", held[0]).board
    assert len(board.waiting) == 1
    limiting: Any = world.worker._admission.gate("limits")
    limiting.permitting._wake(board, held[0])
    world.step()
    assert [wall for _, wall in starts] == ["cellar", "hall"]


def test_a_limit_of_none_suspends_and_control_resumes(world: testing.World) -> None:
    never.delay()
    for _ in range(3):
        world.step()
        world.clock.advance(1_000)
    assert not starts
    assert not world.parked()
    app.control.concurrency("never", 1)
    world.drain()
    assert [what for _, what in starts] == ["never"]
    app.control.restore_limits("never")
    assert dict(app.control.hello().limits) == {}


def test_a_range_asks_its_strategy_and_stays_within(world: testing.World) -> None:
    limiting: Any = world.worker._admission.gate("limits")
    spec = app.registry.tasks["elastic"]
    assert spec.limits is not None
    assert spec.limits.concurrency is not None
    assert limiting.permitting.limit_of("elastic", spec.limits.concurrency) == 2
    free[0] = 0
    assert limiting.permitting.limit_of("elastic", spec.limits.concurrency) == 2, "it is asked every ten seconds"
    world.clock.advance(11)
    assert limiting.permitting.limit_of("elastic", spec.limits.concurrency) == 1


@app.task(name="carve", concurrency=12)
def carve(n: int) -> int:
    """Carve, twelve at a time: two boards."""
    _started(current().permit)
    return current().permit


def test_a_limit_above_ten_has_all_its_permits_and_one_that_is_given_back_on_any_board_wakes_a_message(world: testing.World) -> None:
    held = hold(world, "carve/", 12)
    began = world.clock.now()
    result = carve.delay(1)
    world.step()
    assert starts == []
    world.ports.limits.give_back("carve/", held[11])
    limiting: Any = world.worker._admission.gate("limits")
    limiting.permitting._line.wake("carve/", held[11])
    world.step()
    assert (result.get(), world.clock.now() - began < 5.0) == (11, True)


@pytest.mark.parametrize("limit", [12, 3])
def test_all_holders_of_a_limit_above_ten_are_shown_also_when_it_was_lowered(world: testing.World, limit: int) -> None:
    hold(world, "carve/", 12)
    app.control.concurrency("carve", limit)
    carve.delay(1)
    world.step()
    shown = [one for one in locks.held(app).permits if one.task == "carve"]
    assert [(one.number, one.owner, one.most, one.waiting) for one in shown] == [(n, f"other {n}", limit, 1) for n in range(12)]
    app.control.restore_limits("carve")


@pytest.mark.parametrize("more", [("5",), ("5", "7"), ("rate", "5")])
def test_all_holders_are_shown_of_a_limit_that_was_raised_and_lowered_at_run_time(world: testing.World, more: tuple[str, ...]) -> None:
    app.control.concurrency("draw", 15)
    hold(world, "draw/", 15)
    for one in more:
        if one == "rate":
            app.control.rate_limit("draw", "10/s")
        else:
            app.control.concurrency("draw", int(one))
    shown = [one for one in locks.held(app).permits if one.task == "draw"]
    assert [(one.number, one.most) for one in shown] == [(n, int(more[-1])) for n in range(15)]
    app.control.restore_limits("draw")


def test_all_holders_are_shown_of_a_limit_that_was_raised_lowered_and_restored_until_they_end(world: testing.World) -> None:
    def shown() -> list[tuple[int, int]]:
        return [(one.number, one.most) for one in locks.held(app).permits if one.task == "draw"]

    app.control.concurrency("draw", 15)
    held = hold(world, "draw/", 15)
    app.control.concurrency("draw", 5)
    assert app.control.restore_limits("draw") == {}, "the limits are as declared"
    assert shown() == [(n, 2) for n in range(15)]
    assert "draw" in app.control.concurrency("draw", 5)
    app.control.restore_limits("draw")
    assert shown() == [(n, 2) for n in range(15)]
    for permit in held[1:]:
        world.ports.limits.give_back("draw/", permit)
    assert shown() == [(0, 2)]
    app.control.restore_limits("draw")
    assert world.ports.control.read().limits == {}


def test_a_limit_that_is_raised_above_ten_has_more_permits_at_once(world: testing.World) -> None:
    hold(world, "draw/", 2)
    app.control.concurrency("draw", 11)
    draw.delay(1)
    world.drain()
    assert starts[0][1][0] >= 2
    app.control.restore_limits("draw")
