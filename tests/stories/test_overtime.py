"""A body that the function's time limit ends is reported: in the log before the end, and in `explain`."""

import threading
from typing import Any

import pytest

from sedano import Sedano, current, testing
from sedano.engine.worker.time_limit_warning import ENDING, Overtime
from tests.stories.taps import Crash


def watched(world: testing.World) -> Overtime:
    """What watches the world's worker; the clock is the world's, and a test looks itself."""
    return Overtime(world.worker.running, world.clock, world.telemetry)


def playing(body: Any) -> tuple[Sedano, Any]:
    """An app with the task `crunch`."""
    app = Sedano("slow")
    return app, app.task(name="crunch")(body)


def test_what_still_runs_at_80_percent_is_logged_once_with_its_task() -> None:
    looks, results = list[float](), list[Any]()

    def body(n: int) -> None:
        if n == 1:
            world.clock.advance(47.0)
            looks.append(overtime.look())
            assert world.telemetry.messages("warning") == []
            world.clock.advance(2.0)
            looks.append(overtime.look())
            overtime.look()

    app, crunch = playing(body)
    with testing.world(app) as world:
        overtime = watched(world)
        with app.batch():
            for n in range(3):
                results.append(crunch.delay(n))
        overtime.begin(60.0)
        world.step()
        overtime.end()
        assert overtime.look() == 48.0
        (line,) = [line for line in world.telemetry.lines if line.message == ENDING]
    assert (line.level, line.fields["task"], line.fields["task_id"], line.fields["limit"]) == ("warning", "crunch", results[1].id, 60.0)
    assert looks == [pytest.approx(1.0), 48.0]


def test_an_invocation_that_ends_in_time_is_never_logged_nor_the_one_after_it() -> None:
    app, crunch = playing(lambda: None)
    with testing.world(app) as world:
        overtime = watched(world)
        for _ in range(3):
            crunch.delay()
            overtime.begin(60.0)
            world.step()
            overtime.end()
            world.clock.advance(40.0)
            overtime.look()
        assert world.telemetry.messages("warning") == []


def test_one_thread_watches_however_many_invocations_there_are() -> None:
    app, _ = playing(lambda: None)
    with testing.world(app) as world:
        overtime, before = watched(world), threading.active_count()
        for seconds in (60.0, 59.9, 60.0, 58.0):
            overtime.begin(seconds)
            overtime.end()
        assert threading.active_count() == before + 1


def test_explain_names_the_time_limit_while_the_task_waits_and_after_it_was_given_up() -> None:
    def body() -> None:
        assert current().id
        raise Crash

    app, crunch = playing(body)
    with testing.world(app) as world:
        result = crunch.delay()
        with pytest.raises(Crash):
            world.step()
        world.clock.advance(2_000.0)
        assert "its function's time limit ended the body" in app.control.explain(result.id).sentence
        while result.state != "POISON":
            world.clock.advance(2_000.0)
            try:
                world.step()
            except Crash:
                continue
        assert "the body takes longer than its function's time limit, or it ends its process" in app.control.explain(result.id).sentence
