"""What stands in for a replaced task is treated as a task of its canvas: it is watched, it has all its retries, and it may be nothing."""

from typing import Any

import pytest

from sedano import Retry, chord, current, group
from sedano.canvas import Form
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage

THRICE = Retry(max_retries=2, interval_start=1, jitter=False)


@pytest.fixture
def processes(stage: Stage, shop: Shop) -> Processes:
    """The processes of the shop."""
    return Processes(stage, shop.app)


def replaced_by(shop: Shop, form: Form) -> Any:
    """Return a task that has itself replaced by *form*."""
    task: Any = shop.task("replaced", lambda: task.replace(form), retry=False)
    return task


def test_who_watches_a_canvas_hears_of_failures_deep_within_what_replaced_a_task(shop: Shop, processes: Processes) -> None:
    deep = group(shop.add.s(1, 1), chord([shop.fails.s()], shop.total.s()))
    canvas = chord([replaced_by(shop, deep).s()], shop.total.s())
    canvas.link_error(shop.mail.s())
    canvas.delay()
    processes.drain()
    assert shop.ran["mail"] == 1


def test_what_replaces_a_task_has_all_its_retries_and_counts_its_own_attempts(shop: Shop, processes: Processes) -> None:
    seen: list[int] = []

    def third_time() -> int:
        seen.append(current().attempt)
        if current().attempt < THRICE.max_retries:
            raise RuntimeError("not yet")
        return current().attempt

    result = replaced_by(shop, shop.task("third_time", third_time, retry=THRICE).s()).delay()
    processes.drain()
    assert (result.get(), seen) == (2, [0, 1, 2])


def test_a_task_may_be_replaced_by_nothing(shop: Shop, processes: Processes) -> None:
    result = (replaced_by(shop, group()).s() | shop.total.s()).delay()
    processes.drain()
    assert result.get() == 0


def test_one_error_callback_is_called_once_for_a_failure_however_it_came_to_be_linked(shop: Shop, processes: Processes) -> None:
    """Here on the task that is replaced and on what replaces it, whose part of the canvas was written down by a stamped task."""
    failing = shop.fails.s()
    failing.link_error(shop.mail.s())
    canvas = replaced_by(shop, failing).s().stamp(team="x")
    canvas.link_error(shop.mail.s())
    group(canvas, shop.add.s(1, 1)).delay()
    processes.drain()
    assert shop.ran["mail"] == 1
