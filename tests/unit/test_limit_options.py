"""Options of limits that cannot be honoured say what to do instead."""

from typing import Any

import pytest

from sedano import Range, Sedano, testing
from sedano.errors import OptionError, RemoteError

app = Sedano("options")


@app.task(name="send")
def send(n: int) -> int:
    """Send."""
    return n


@app.task(name="loose", delivery="at_least_once")
def loose() -> None:
    """Run now and then twice."""


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"rate": "-1/s"}, "rate: '-1/s' is not a valid rate"),
        ({"rate": "0/m"}, "concurrency=0"),
        ({"burst": 3}, "burst: has no effect without rate="),
        ({"rate": "1/s", "per": "queue"}, "per='worker'"),
        ({"rate": "1/s", "key": "{user_id}"}, "'user_id' is not a parameter"),
        ({"rate": "1/s", "key": "{n.real}"}, "'n.real' is not a parameter"),
        ({"rate": "1/s", "key": "{n"}, "write a literal brace twice"),
        ({"rate": "1/s", "key": 7}, "neither a text"),
        ({"rate": "1/s", "delivery": "at_least_once"}, "only a claimed task can be limited"),
        ({"concurrency": -1}, "concurrency: -1 is not a whole number from 0"),
        ({"concurrency": True}, "concurrency: True"),
        ({"concurrency": 1_001}, "1000"),
        ({"concurrency": Range(3, 2, len)}, "low <= high"),  # type: ignore[arg-type]
        ({"concurrency": Range(1, 2, 3)}, "function without arguments"),  # type: ignore[arg-type]
        ({"concurrency_key": "{n}"}, "has no effect without concurrency="),
        ({"concurrency": 2, "singleton": True}, "a singleton already runs one at a time"),
        ({"priority": "low"}, "'default-low', which is not one of this app's"),
        ({"priority": 3}, "is not the name of a band"),
        ({"serial_key": "{n}"}, "'default' keeps no order; use a FIFO queue"),
        ({"debounce": "soon"}, "write '30s'"),
        ({"debounce": 0}, "not a time above 0"),
        ({"batch": (2, 1), "bind": True}, "bind: a batch of calls"),
        ({"batch": 100}, "(100, '5s')"),
        ({"batch": (1, 5)}, "from 2 to 1000"),
        ({"batch": (10, 5), "rate": "1/s"}, "batch: cannot be combined with rate="),
    ],
)
def test_what_cannot_be_honoured_says_what_to_do(options: dict[str, Any], told: str) -> None:
    with pytest.raises(OptionError) as refused:

        @app.task(name="refused", **options)
        def refused_task(n: int) -> None:
            return None

    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"rate": "1/s"}, "a limit"), ({"concurrency": 2}, "a limit"), ({"debounce": 5}, "a limit"), ({"batch": (5, 1)}, "a limit"),
        ({"singleton": True}, "singleton"), ({"circuit": True}, "circuit"), ({"queue": "o.fifo", "serial_key": "{n}"}, "serial_key"),
    ],
)  # fmt: skip
def test_many_calls_of_one_message_pass_by_no_limit(options: dict[str, Any], told: str) -> None:
    own, foreign = Sedano("mapped", queues=("default", "o.fifo")), Sedano("foreign")
    ran: list[int] = []

    def limited_task(n: int) -> None:
        ran.append(n)

    limited = own.task(name="limited", **options)(limited_task)
    known_elsewhere = foreign.task(name="limited")(lambda n: None)
    with testing.world(own) as world:
        for publish in (lambda: limited.map([1, 2]), lambda: limited.starmap([[1], [2]]), lambda: limited.chunks([[1], [2]], 1)):
            with pytest.raises(OptionError, match=f"limited is declared with {told}.*publish its calls one by one"):
                publish()
        foreign.attach(world.ports)
        result = known_elsewhere.map([1, 2]).apply_async()
        world.drain()
        assert (ran, result.state) == ([], "FAILURE")
        with pytest.raises(RemoteError, match=f"limited is declared with {told}"):
            own.result(result.id).get()


@pytest.mark.parametrize("wrong", [-1, 1_001, 1.5])
def test_control_refuses_what_is_no_limit(wrong: Any) -> None:
    with testing.world(app), pytest.raises(OptionError, match="concurrency"):
        app.control.concurrency("send", wrong)


@pytest.mark.parametrize(
    ("soft", "hard", "told"),
    [(-1, None, "soft_time_limit: -1"), (None, 0, "time_limit: 0"), (2, 1, "2 is not below time_limit: 1"), (None, "1", "'1'")],
)
def test_control_refuses_what_is_no_time_limit(soft: Any, hard: Any, told: str) -> None:
    with testing.world(app), pytest.raises(OptionError) as refused:
        app.control.time_limit("send", soft, hard)
    assert told in str(refused.value)


def test_control_knows_the_tasks_that_can_be_limited() -> None:
    with testing.world(app):
        with pytest.raises(OptionError, match="not one of this app's tasks"):
            app.control.rate_limit("unknown", "1/s")
        with pytest.raises(OptionError, match="not one of this app's tasks"):
            app.control.time_limit("unknown", 1)
        with pytest.raises(OptionError, match="delivered at_least_once"):
            app.control.concurrency("loose", 1)
        with pytest.raises(OptionError, match="a Range is declared with the task"):
            app.control.concurrency("send", Range(1, 2, int))  # type: ignore[arg-type]
