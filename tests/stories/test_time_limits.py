"""Time limits, soft and hard: a body is told to end, and ended, on every kind of thread and in every form of canvas."""

import asyncio
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from sedano import Retry, chain, chord, current, group
from sedano.canvas import Form
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.errors import RemoteError, SoftTimeLimitExceeded
from sedano.model import states
from tests.stories.kept import assert_kept
from tests.stories.mutants import Delegating, on_ledger
from tests.stories.processes import COMMANDS, Processes
from tests.stories.shop import Shop
from tests.stories.stage import in_memory

SOFT, HARD = 0.05, 0.15
ONCE_MORE = Retry(max_retries=1, interval_start=1.0, jitter=False)
THREADS = pytest.mark.parametrize("threads", [1, 2], ids=["inline", "on threads"])


def spin() -> None:
    """Run on, in steps of Python code."""
    while True:
        pass


def started(shop: Shop, body: Any, threads: int = 1, **options: Any) -> tuple[Processes, Any]:
    """Publish a task of *body* under *options* to a worker with so many *threads*; return its processes and the result."""
    shop.task("body", body, **options)
    processes = Processes(in_memory(), shop.app, WorkerSettings(concurrency=threads, lanes=0))
    return processes, shop.app.send_task("body")


@THREADS
def test_a_body_may_clean_up_at_its_soft_limit(shop: Shop, threads: int) -> None:
    def body() -> str:
        try:
            spin()
        except SoftTimeLimitExceeded:
            return "cleaned up"
        return "never"

    processes, result = started(shop, body, threads, soft_time_limit=SOFT)
    processes.drain()
    assert result.get() == "cleaned up"


@THREADS
def test_a_body_that_lets_its_soft_limit_pass_has_failed_and_is_tried_again(shop: Shop, threads: int) -> None:
    processes, result = started(shop, spin, threads, soft_time_limit=SOFT, retry=ONCE_MORE)
    processes.drain()
    with pytest.raises(RemoteError, match="SoftTimeLimitExceeded: the task ran longer than its soft time limit"):
        result.get()
    assert shop.ran["body"] == 2


@THREADS
def test_a_hard_limit_ends_a_body_that_handles_every_failure_and_it_is_not_tried_again(shop: Shop, threads: int) -> None:
    def body() -> None:
        shop.pack.delay("is not sent")
        while True:
            try:
                spin()
            except Exception:  # noqa: BLE001, S112 - it is the point
                continue

    processes, result = started(shop, body, threads, soft_time_limit=SOFT, time_limit=HARD, retry=ONCE_MORE)
    processes.drain()
    with pytest.raises(RemoteError, match=r"TimeLimitExceeded: the task ran longer than its hard time limit of 0.15 s"):
        result.get()
    assert (shop.ran["body"], shop.ran["pack"]) == (1, 0)
    assert_kept(processes.stage, {("body", states.FAILURE): 1})


def test_what_a_body_returns_after_its_hard_limit_does_not_count(shop: Shop) -> None:
    def body() -> str:
        try:
            spin()
        except BaseException:  # noqa: BLE001 - it is the point
            return "too late"
        return "never"

    processes, result = started(shop, body, time_limit=SOFT)
    processes.drain()
    assert result.state == states.FAILURE


def test_a_wait_for_the_system_is_ended(shop: Shop) -> None:
    began = time.monotonic()
    processes, result = started(shop, lambda: threading.Event().wait(60), soft_time_limit=SOFT, retry=False)
    processes.drain()
    assert result.state == states.FAILURE
    assert time.monotonic() - began < 30


def test_the_signal_is_what_it_was_before(shop: Shop) -> None:
    before = signal.getsignal(signal.SIGALRM)
    processes, result = started(shop, lambda: "done", time_limit=20)
    processes.drain()
    assert (result.get(), signal.getsignal(signal.SIGALRM)) == ("done", before)


class Tells(Delegating):
    """A ledger that tells when an outcome is recorded."""

    recorded = threading.Event()

    def record(self, outcomes: Any) -> Any:
        """Record and tell."""
        answers = self.inner.record(outcomes)
        self.recorded.set()
        return answers


def test_the_failure_of_a_body_that_does_not_yield_is_recorded_while_it_runs(shop: Shop) -> None:
    seen: list[str] = []

    def body() -> str:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})  # as a long call of C would: nothing meets this thread
        Tells.recorded.wait(60)
        seen.append(result.state)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
        return "too late"

    processes, result = started(shop, body, time_limit=SOFT, retry=ONCE_MORE)
    Tells.recorded.clear()
    processes.restart(on_ledger(processes.stage.ports, Tells))
    processes.drain()
    assert seen == [states.FAILURE]
    with pytest.raises(RemoteError, match="TimeLimitExceeded"):
        result.get()
    assert shop.ran["body"] == 1
    assert processes.stage.peek(COMMANDS) == []


def test_a_checkpoint_knows_the_limits(shop: Shop) -> None:
    stage = in_memory()
    met: list[str] = []

    def body() -> None:
        for _ in range(4):
            stage.pass_time(4)
            try:
                current().check()
            except SoftTimeLimitExceeded:
                met.append("soft")

    shop.task("body", body, soft_time_limit=6, time_limit=15)
    processes = Processes(stage, shop.app)
    result = shop.app.send_task("body")
    processes.drain()
    assert (met, result.state) == (["soft"], states.FAILURE)


@pytest.mark.parametrize("left", [0.0, 25.0])
def test_a_body_begins_when_there_is_as_much_time_as_it_may_take(shop: Shop, left: float) -> None:
    stage = in_memory()
    shop.task("long", lambda: stage.pass_time(left))
    began: list[float] = []
    shop.task("body", lambda: began.append(stage.clock.now()), time_limit=20)
    processes = Processes(stage, shop.app)
    for name in ("long", "body"):
        shop.app.send_task(name)
    start = stage.clock.now()
    processes.drain()
    assert len(began) == 1
    assert (began[0] - start > 25) == (left > 0)
    assert_kept(stage, {("long", states.SUCCESS): 1, ("body", states.SUCCESS): 1})


@pytest.mark.parametrize("is_async", [False, True])
def test_a_limit_that_no_invocation_can_honour_is_said_so(shop: Shop, is_async: bool) -> None:
    stage = in_memory()

    async def waits() -> None:
        raise AssertionError("it ran")

    shop.task("body", waits if is_async else spin, soft_time_limit=600)
    processes = Processes(stage, shop.app)
    result = shop.app.send_task("body")
    processes.drain()
    with pytest.raises(RemoteError, match=r"a time limit of 600 s cannot be honoured, because an invocation of this worker lasts 30 s"):
        result.get()


async def wait() -> None:
    """Wait for what never comes."""
    await asyncio.Event().wait()


async def clean() -> str:
    """Clean up when asked to end."""
    try:
        await wait()
    except asyncio.CancelledError:
        return "cleaned up"
    return "never"


async def stubborn() -> None:
    """Go on when asked to end."""
    try:
        await wait()
    except asyncio.CancelledError:
        await wait()


@pytest.mark.parametrize(
    ("body", "told"),
    [(clean, "cleaned up"), (wait, "SoftTimeLimitExceeded"), (stubborn, "TimeLimitExceeded: the task ran longer than its hard time limit")],
)
def test_an_async_body_is_cancelled_at_its_limits_and_its_neighbours_are_not(shop: Shop, body: Callable[[], Any], told: str) -> None:
    async def neighbour() -> str:
        await asyncio.sleep(2 * HARD)
        return "done"

    shop.task("neighbour", neighbour)
    shop.task("body", body, soft_time_limit=SOFT, time_limit=HARD, retry=False)
    processes = Processes(in_memory(), shop.app)
    results = group([shop.app_sig("body"), shop.app_sig("neighbour")]).delay()
    processes.drain()
    first, second = results.get(propagate=False)
    assert (str(first).startswith(told), second) == (True, "done")


def forms(shop: Shop) -> dict[str, Callable[[], Form]]:
    """Every form of canvas with a task in it that is over its limit."""
    slow = shop.app_sig("body")
    return {
        "a link of a chain": lambda: chain(shop.add.s(1, 1), slow, shop.total.s()),
        "a member of a group": lambda: group([shop.add.s(1, 1), slow]),
        "a member of a header": lambda: chord([shop.add.s(1, 1), slow], shop.total.s()),
        "a body": lambda: chord([shop.add.s(1, 1), shop.add.s(2, 2)], slow),
        "a nested one": lambda: chain(group([shop.add.s(1, 1), chain(slow, shop.add.s(1))]), shop.total.s()),
    }


@pytest.mark.parametrize("which", ["a link of a chain", "a member of a group", "a member of a header", "a body", "a nested one"])
@pytest.mark.parametrize("kind", ["SoftTimeLimitExceeded", "TimeLimitExceeded"])
def test_a_task_over_its_limit_has_failed_in_every_form(shop: Shop, which: str, kind: str) -> None:
    told: list[str] = []
    options = {"soft_time_limit": SOFT} if kind.startswith("Soft") else {"time_limit": SOFT}
    shop.task("body", lambda *_: spin(), retry=False, **options)
    shop.task("failed", lambda request, error, traceback: told.append(error["type"]))
    processes = Processes(in_memory(), shop.app)
    form = forms(shop)[which]().on_error(shop.app_sig("failed"))
    result = form.delay()
    processes.drain()
    with pytest.raises(RemoteError, match=kind):
        result.get()
    assert set(told) == {kind}
