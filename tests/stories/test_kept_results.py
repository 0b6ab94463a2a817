"""Whether a result is kept is said by the call, and by its task only where the call says nothing."""

from typing import Any

import pytest

from sedano import Sedano, chain, group, testing
from sedano.errors import NoResult

MODES = pytest.mark.parametrize("delivery", ["claimed", "record_once", "at_least_once"])


def declared(delivery: Any, *, ignores: bool) -> tuple[Sedano, Any]:
    """An app with one task that doubles."""
    app = Sedano("kept")
    return app, app.task(name="double", delivery=delivery, ignore_result=ignores)(lambda n: 2 * n)


@MODES
def test_a_call_keeps_the_result_of_a_task_that_keeps_none(delivery: str) -> None:
    app, double = declared(delivery, ignores=True)
    with testing.world(app):
        assert double.apply_async((2,), ignore_result=False).get() == 4
        with pytest.raises(NoResult):
            double.delay(2).get()


@MODES
def test_a_call_keeps_no_result_of_a_task_that_keeps_them(delivery: str) -> None:
    app, double = declared(delivery, ignores=False)
    with testing.world(app):
        with pytest.raises(NoResult):
            double.apply_async((2,), ignore_result=True).get()
        assert double.delay(2).get() == 4


def test_the_calls_word_holds_through_a_retry_and_in_a_canvas() -> None:
    app, double = declared("claimed", ignores=True)
    tries: list[int] = []

    @app.task(name="tries", ignore_result=True)
    def twice(n: int) -> int:
        tries.append(n)
        if len(tries) == 1:
            raise ValueError("once more")
        return n

    with testing.world(app):
        assert twice.apply_async((5,), ignore_result=False).get() == 5
        kept = double.s().set(ignore_result=False)
        assert chain(double.s(1), kept).delay().get() == 4
        assert group(double.s(3).set(ignore_result=False), double.s(4).set(ignore_result=False)).delay().get() == [6, 8]


def test_what_another_program_sends_without_a_word_is_kept_as_the_task_was_declared() -> None:
    app, double = declared("claimed", ignores=True)
    with testing.world(app) as world:
        result = double.apply_async((2,), task_id="theirs")
        (body,) = world.queues.sent
        assert '"ignoreresult":true' in body
        (sent,) = world.queues.peek("commands:default")
        world.queues.send("commands:default", [sent._replace(body=body.replace(',"ignoreresult":true', ""))])
        world.drain()
        with pytest.raises(NoResult):
            result.get()
