"""A body asks for another attempt with other arguments: they are recorded, and the old ones never run again after that."""

import asyncio
from typing import Any

import pytest

from sedano import Retry, Sedano, chain, chord, current, optional, retry
from sedano.errors import Ignore, Reject, RemoteError
from sedano.model import states
from sedano.ports import PARKED
from sedano.testing import world
from sedano.testing.crash_points import CrashWatch, Point, place, points
from tests.stories.processes import COMMANDS, Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage

STEADY = Retry(max_retries=3, interval_start=2, jitter=False)


@pytest.fixture
def processes(stage: Stage, shop: Shop) -> Processes:
    """The processes of the shop."""
    return Processes(stage, shop.app)


def halved(shop: Shop, seen: list[Any], **options: Any) -> Any:
    """Return a task that asks for half of its number until that is odd."""

    def half(number: int, *, name: str = "a") -> tuple[int, str]:
        seen.append((current().attempt, number, name))
        if number % 2:
            return number, name
        try:
            raise ValueError(f"{number} is even")
        except ValueError:
            current().retry(args=[number // 2], kwargs={"name": name + "b"}, **options)

    return shop.task("half", half, retry=STEADY)


def test_the_next_attempt_has_other_arguments_and_the_same_id(shop: Shop, processes: Processes) -> None:
    seen: list[Any] = []
    result = halved(shop, seen).delay(12)
    processes.drain()
    assert (result.get(), seen) == ((3, "abb"), [(0, 12, "a"), (1, 6, "ab"), (2, 3, "abb")])


def test_the_error_is_the_one_that_is_handled_also_at_the_end(shop: Shop, processes: Processes) -> None:
    result = halved(shop, []).delay(64)
    processes.drain()
    with pytest.raises(RemoteError, match=r"^ValueError: 8 is even"):
        result.get()


def test_explain_says_that_the_arguments_are_others_and_a_redelivery_does_not_run_the_old_ones(
    stage: Stage, shop: Shop, processes: Processes
) -> None:
    seen: list[Any] = []
    result = halved(shop, seen, countdown=100).delay(2)
    old = [*stage.peek(COMMANDS)]
    assert len(old) == 1
    processes.step()
    sentence = shop.app.control.explain(result.id).sentence
    assert "it is tried again, attempt 1, " in sentence
    assert ", with other arguments after ValueError: 2 is even" in sentence
    for seconds in (40, 70):  # while the next attempt waits, and when it is due
        stage.ports.queues.send(COMMANDS, old)
        processes.step()
        stage.pass_time(seconds)
    processes.drain()
    stage.ports.queues.send(COMMANDS, old)
    processes.drain()
    assert seen == [(0, 2, "a"), (1, 1, "ab")]
    assert result.state == states.SUCCESS


def test_arguments_that_do_not_fit_fail_the_task(shop: Shop, processes: Processes) -> None:
    def body(number: int) -> None:
        current().retry(args=[1, 2])

    result = shop.task("body", body, retry=STEADY).delay(1)
    processes.drain()
    with pytest.raises(RemoteError, match=r"^ArgumentError: "):
        result.get()
    assert shop.ran["body"] == 1


@pytest.mark.parametrize("handles", [False, True])
def test_publications_and_the_error_of_a_body_whose_wishes_do_not_fit_stay(shop: Shop, processes: Processes, handles: bool) -> None:
    noted: list[str] = []
    note = shop.task("note", noted.append)

    def body(number: int) -> None:
        note.delay(f"charged {number}")
        if not handles:
            current().retry(args=[1, 2])
        try:
            raise LookupError("no such order")
        except LookupError:
            current().retry(args=[1, 2])

    result = shop.task("body", body, retry=STEADY).delay(1)
    processes.drain()
    assert (noted, shop.ran["body"]) == (["charged 1"], 1)
    with pytest.raises(RemoteError, match=r"^ArgumentError: ") as caught:
        result.get()
    notes = ["its body handled LookupError: no such order"] if handles else []
    assert [one for one in getattr(caught.value, "__notes__", []) if "its body" in one] == notes
    record = result.record()
    assert record is not None
    assert record.error is not None
    assert ("LookupError: no such order" if handles else "current().retry(args=[1, 2])") in record.error.traceback


@pytest.mark.parametrize("section", [False, True])
@pytest.mark.parametrize("handles", [False, True])
def test_a_policy_that_allows_no_retry_is_named_with_the_remedy(shop: Shop, processes: Processes, section: bool, handles: bool) -> None:
    def ask(number: int) -> None:
        if not handles:
            current().retry(args=[2])
        try:
            raise LookupError("no such order")
        except LookupError:
            current().retry(args=[2])

    def body(number: int) -> None:
        if not section:
            ask(number)
        with retry(max_retries=0):
            ask(number)

    result = shop.task("body", body, retry=STEADY if section else False).delay(1)
    processes.drain()
    with pytest.raises(RemoteError) as caught:
        result.get()
    words = "and the policy allows no retry: write retry=Retry(max_retries=…) at the task, or `with retry(max_retries=…):` around"
    said = getattr(caught.value, "__notes__", []) if handles else [str(caught.value)]
    assert sum(words in one for one in said) == 1
    assert str(caught.value).startswith("LookupError: no such order" if handles else "RetryRequested: ")
    assert shop.ran["body"] == 1


@pytest.mark.parametrize("error", [Reject("not mine"), Ignore("not now")])
def test_a_handled_error_that_ends_a_task_does_not_forbid_the_attempts(shop: Shop, processes: Processes, error: Exception) -> None:
    def body(number: int) -> int:
        try:
            raise error
        except type(error):
            current().retry(args=[number + 1])

    result = shop.task("body", body, retry=STEADY).delay(1)
    processes.drain()
    assert shop.ran["body"] == 4
    assert result.state == (states.REVOKED if isinstance(error, Ignore) else states.FAILURE)
    ignored, tried = (processes.stage.telemetry.counted(name, task="body") for name in ("TasksIgnored", "TasksRetried"))
    assert (ignored, tried) == (isinstance(error, Ignore), 3)
    assert [one.attributes["detail"] for one in processes.stage.peek(PARKED)] == ["not mine"] * isinstance(error, Reject)


def test_a_traceback_begins_with_the_line_of_the_body(shop: Shop, processes: Processes) -> None:
    def helper() -> None:
        raise LookupError("deep")

    def body() -> None:
        try:
            helper()
        except LookupError:
            current().retry(args=[])

    result = shop.task("body", body, retry=False).delay()
    processes.drain()
    record = result.record()
    assert record is not None
    assert record.error is not None
    assert [line.strip() for line in record.error.traceback.splitlines() if "^" not in line and "File" not in line] == [
        "Traceback (most recent call last):", "helper()", 'raise LookupError("deep")', "LookupError: deep",
    ]  # fmt: skip


def test_a_request_alone_in_a_group_of_exceptions_is_that_request(shop: Shop, processes: Processes) -> None:
    seen: list[int] = []

    async def body(number: int) -> int:
        async def inner() -> None:
            if number < 4:
                current().retry(args=[number + 1])

        seen.append(number)
        with retry(max_retries=3, interval_start=1):
            async with asyncio.TaskGroup() as outer:
                async with asyncio.TaskGroup() as group:
                    group.create_task(inner())
                outer.create_task(asyncio.sleep(0))
        return number

    result = shop.app.task(name="body", retry=False)(body).delay(1)
    processes.drain()
    assert (result.get(), seen) == (4, [1, 2, 3, 4])


def test_a_section_counts_requested_attempts(shop: Shop, processes: Processes) -> None:
    def body(number: int) -> int:
        if number < 3:
            with retry(max_retries=2, interval_start=1):
                raise current().retry(args=[number + 1])
        return number

    result = shop.task("body", body, retry=False).delay(1)
    processes.drain()
    assert result.get() == 3


def test_a_step_and_the_body_of_a_chord_keep_their_places(shop: Shop, processes: Processes) -> None:
    seen: list[Any] = []
    half = halved(shop, seen)
    last = shop.task("last", lambda found: found)
    chained = chain(half.s(6), last.s()).delay()

    def sums(values: list[int]) -> int:
        if current().attempt == 0:
            current().retry(args=[[*values, 10]])
        return sum(values)

    gathered = chord([shop.add.s(1, 1), shop.add.s(2, 2)])(shop.task("sums", sums).s())
    processes.drain()
    assert (chained.get(), gathered.get()) == ([3, "ab"], 16)


def test_a_large_argument_that_stays_is_kept(shop: Shop, processes: Processes) -> None:
    def body(text: str, *, mode: str = "a") -> tuple[int, str]:
        if mode == "a":
            current().retry(kwargs={"mode": "b"})
        return len(text), mode

    result = shop.task("body", body).delay("x" * 70_000)
    processes.drain()
    assert result.get() == (70_000, "b")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"args": 5}, "ArgumentError: args: expected a list or a tuple of arguments, got int"),
        ({"args": (one for one in "ab")}, "ArgumentError: args: expected a list or a tuple of arguments, got generator"),
        ({"kwargs": 5}, "ArgumentError: kwargs: expected a mapping of names to arguments, got int"),
        ({"countdown": 90_000}, "OptionError: countdown: 90000 is not a number of seconds from 0 to 86400"),
        ({"countdown": -1}, "OptionError: countdown: -1 is not a number of seconds from 0 to 86400"),
        ({"countdown": True}, "OptionError: countdown: True is not a number of seconds from 0 to 86400"),
    ],
)
def test_wishes_that_are_wrong_raise_in_the_body_and_end_the_task(shop: Shop, processes: Processes, options: Any, words: str) -> None:
    def body() -> None:
        with retry(max_retries=3):
            current().retry(**options)

    result = shop.task("body", body, retry=STEADY).delay()
    processes.drain()
    with pytest.raises(RemoteError) as caught:
        result.get()
    assert words in str(caught.value)
    assert shop.ran["body"] == 1


def test_a_task_without_a_claim_is_refused(shop: Shop, processes: Processes) -> None:
    result = shop.task("body", lambda: current().retry(args=[]), delivery="record_once", retry=STEADY).delay()
    processes.drain()
    with pytest.raises(RemoteError, match="declare it with delivery='claimed'"):
        result.get()
    assert shop.ran["body"] == 1


def test_a_queue_that_keeps_order_has_another_pause_and_no_other_arguments() -> None:
    app, began = Sedano("shop", queues=("default", "orders.fifo"), retry=STEADY), list[tuple[int, int]]()

    @app.task(name="ship", queue="orders.fifo", serial_key="k")
    def ship(number: int) -> int:
        began.append((current().attempt, number))
        if current().attempt == 0:
            current().retry(countdown=50) if number < 5 else current().retry(args=[7])
        return number

    with world(app) as here:
        kept, changed = ship.delay(1), ship.delay(5)
        here.drain()
        assert (kept.get(), began) == (1, [(0, 1), (1, 1), (0, 5)])
        with pytest.raises(RemoteError, match="OptionError: retry: a queue that keeps order delivers the same message again"):
            changed.get()


def test_a_run_that_takes_many_calls_has_no_other_arguments() -> None:
    app, began = Sedano("shop", retry=STEADY), list[int]()

    @app.task(name="store", batch=(2, "1m"))
    def store(calls: list[Any]) -> None:
        began.append(len(calls))
        current().retry(args=[[]])

    with world(app) as here:
        calls = [store.delay(number) for number in range(2)]
        here.drain()
        assert began == [2]
        sentence = app.control.explain(calls[0].id).sentence
        assert "retry: one run takes many calls of this task (batch=)" in sentence


def test_a_map_is_refused(shop: Shop, processes: Processes) -> None:
    result = shop.task("body", lambda number: current().retry(args=[number]), retry=STEADY).map([1, 2]).delay()
    processes.drain()
    with pytest.raises(RemoteError, match="OptionError: retry: a map runs many calls as one task"):
        result.get()
    assert shop.ran["body"] == 1


def test_the_wished_arguments_are_those_at_the_call(shop: Shop, processes: Processes) -> None:
    def body(numbers: list[int]) -> list[int]:
        if current().attempt == 0:
            wished: list[Any] = [[1]]
            try:
                current().retry(args=wished)
            finally:
                wished.append("more")
        return numbers

    result = shop.task("body", body, retry=STEADY).delay([0])
    processes.drain()
    assert result.get() == [1]


def play(point: Point | None = None) -> tuple[list[tuple[int, int]], Any, CrashWatch]:
    """Return the attempts that began with their arguments, the result, and what was watched."""
    app, began, watch = Sedano("shop"), list[tuple[int, int]](), CrashWatch(point)

    @app.task(name="half", retry=STEADY)
    def half(number: int) -> int:
        began.append((current().attempt, number))
        if number % 2 == 0:
            current().retry(args=[number // 2])
        return number

    with world(app, watch=watch) as here:
        result = half.delay(4)
        here.drain()
        value = result.get()
    return began, value, watch


def test_a_death_at_any_call_never_runs_old_arguments_after_the_new_ones() -> None:
    whole, value, undisturbed = play()
    assert (whole, value) == ([(0, 4), (1, 2), (2, 1)], 1)
    every_point = points(undisturbed.calls)
    assert len(every_point) >= 10
    for point in (*every_point, Point(None)):
        began, value, _ = play(point)
        where = "every message twice" if point.at is None else place(point, undisturbed.calls)
        assert value == 1, where
        assert began == sorted(began), where
        assert set(began) == set(whole), where


def test_an_optional_section_does_not_swallow_the_request(shop: Shop, processes: Processes) -> None:
    seen: list[int] = []

    def less(number: int) -> int:
        seen.append(number)
        with optional():
            if number:
                current().retry(args=[number - 1])
        return number

    result = shop.task("less", less, retry=STEADY).delay(1)
    processes.drain()
    assert (result.get(), seen) == (0, [1, 0])


def test_a_request_and_its_section_in_a_group_of_tasks_are_those_of_the_body(shop: Shop, processes: Processes) -> None:
    seen: list[int] = []

    async def less(number: int) -> int:
        seen.append(number)

        async def ask() -> None:
            with retry(max_retries=3, interval_start=1, jitter=False):
                current().retry(args=[number - 1])

        if number:
            async with asyncio.TaskGroup() as group:
                group.create_task(ask())
        return number

    result = shop.task("less", less, retry=False).delay(2)
    processes.drain()
    assert (result.get(), seen) == (0, [2, 1, 0])
