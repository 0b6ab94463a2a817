"""A body asks for another attempt with other arguments: they are recorded, and the old ones never run again after that."""

from typing import Any

import pytest

from sedano import Retry, Sedano, chain, chord, current, retry
from sedano.errors import RemoteError
from sedano.model import states
from sedano.testing import world
from sedano.testing.crash_points import CrashWatch, Point, place, points
from tests.stories.processes import Processes
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
    processes.step()
    sentence = shop.app.control.explain(result.id).sentence
    assert "it is tried again, attempt 1, " in sentence
    assert ", with other arguments after ValueError: 2 is even" in sentence
    stage.pass_time(101)
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
        ({"countdown": -1}, "OptionError: countdown: -1 is not a number of seconds from 0 to 86400"),
        ({"countdown": True}, "OptionError: countdown: True is not a number of seconds from 0 to 86400"),
    ],
)
def test_wishes_that_are_wrong_raise_in_the_body(shop: Shop, processes: Processes, options: Any, words: str) -> None:
    result = shop.task("body", lambda: current().retry(**options), retry=False).delay()
    processes.drain()
    with pytest.raises(RemoteError) as caught:
        result.get()
    assert words in str(caught.value)


def test_a_task_without_a_claim_is_refused(shop: Shop, processes: Processes) -> None:
    result = shop.task("body", lambda: current().retry(args=[]), delivery="record_once", retry=False).delay()
    processes.drain()
    with pytest.raises(RemoteError, match="declare it with delivery='claimed'"):
        result.get()


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
