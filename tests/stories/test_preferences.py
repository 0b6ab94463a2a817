"""Preferences as their users see them: what begins first in a batch."""

from typing import Any

import pytest

from sedano import Candidate, Sedano, testing
from sedano.errors import OptionError
from sedano.model.priority import Strategy

began: list[str] = []


def app_of(strategy: Strategy | None) -> tuple[Sedano, dict[str, Any]]:
    """An app with a quick, a slow and an async task."""
    app = Sedano("preferences")
    if strategy is not None:
        app.prefer(strategy)
    world: dict[str, Any] = {}

    def task(name: str, seconds: float) -> Any:
        @app.task(name=name)
        def body() -> None:
            began.append(name)
            world["clock"].advance(seconds)

        return body

    @app.task(name="io")
    async def wait() -> None:
        began.append("io")

    return app, {"world": world, "quick": task("quick", 0.1), "slow": task("slow", 5.0), "io": wait}


@pytest.fixture(autouse=True)
def nothing_began() -> None:
    """Each test begins anew."""
    began.clear()


def play(strategy: Strategy | None, *batches: str) -> list[str]:
    """Let batches of tasks run, each named in the order of its messages; return what began in the last, in order."""
    app, tasks = app_of(strategy)
    with testing.world(app) as world:
        tasks["world"]["clock"] = world.clock
        for batch in batches:
            began.clear()
            for name in batch.split():
                tasks[name].delay()
            world.drain()
    return list(began)


def test_without_a_preference_a_batch_begins_as_it_came() -> None:
    assert play(None, "slow quick slow") == ["slow", "quick", "slow"]


def test_short_ones_first_and_long_ones_first() -> None:
    assert play("short", "slow quick", "slow quick slow quick") == ["quick", "quick", "slow", "slow"]
    assert play("long", "slow quick", "quick slow quick slow") == ["slow", "slow", "quick", "quick"]


def test_rare_ones_first() -> None:
    assert play("rare", "slow slow slow slow", "slow slow quick") == ["quick", "slow", "slow"]


def test_a_worker_that_is_full_of_cpu_begins_with_what_waits_and_the_reverse() -> None:
    assert play("saturation", "quick", "quick io") == ["quick", "io"]
    assert play("saturation", *["slow slow"] * 12, "quick io") == ["io", "quick"]


def test_a_function_of_the_user_decides_and_one_that_fails_changes_nothing() -> None:
    def by_name(candidate: Candidate) -> str:
        return candidate.task

    def wrong(candidate: Candidate) -> str:
        raise ValueError(candidate.task)

    assert play(by_name, "slow quick") == ["quick", "slow"]
    assert play(wrong, "slow quick") == ["slow", "quick"]


def test_what_is_no_strategy_is_refused() -> None:
    with pytest.raises(OptionError, match="prefer: 'fast' is not one of short, long, rare, saturation"):
        Sedano("wrong").prefer("fast")  # type: ignore[arg-type]
