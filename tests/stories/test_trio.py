"""Tasks with `loop="trio"`: their bodies run under trio, each in a thread of its own, with limits, cancellation and their context."""

import subprocess
import sys
import threading
from typing import Any

import pytest
import trio

from sedano import Retry, Sedano, current, group
from sedano.engine.batch import Ran
from sedano.engine.worker.standing_loop import StandingLoop
from sedano.errors import OptionError, RemoteError, Unavailable
from sedano.model import states
from sedano.model.ledger.tracebacks import origin
from tests.stories.kept import assert_kept, succeeded
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import in_memory
from tests.unit.engine.test_body_loops import Loop, ready

SOFT, HARD = 0.05, 0.15


def started(shop: Shop, body: Any, **options: Any) -> tuple[Processes, Any]:
    """Publish a trio task of *body* under *options*; return its processes and the result."""
    shop.task("body", body, loop="trio", **options)
    return Processes(in_memory(), shop.app), shop.app.send_task("body")


def test_a_body_runs_under_trio_and_its_children_see_the_task(shop: Shop) -> None:
    async def body() -> list[str]:
        seen: list[str] = []

        async def child() -> None:
            await trio.lowlevel.checkpoint()
            seen.append(current().id)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(child)
            nursery.start_soon(child)
        shop.pack.delay("a box")
        return [*seen, threading.current_thread().name]

    processes, result = started(shop, body)
    processes.drain()
    assert result.get() == [result.id, result.id, "sedano-trio"]
    assert_kept(processes.stage, succeeded(body=1, pack=1))


def test_a_body_that_blocks_its_thread_blocks_no_other_body(shop: Shop) -> None:
    meeting = threading.Barrier(3, timeout=20)

    async def body() -> str:
        meeting.wait()  # it blocks the loop, and so would end the others if they shared it
        return current().id

    shop.task("body", body, loop="trio")
    processes = Processes(in_memory(), shop.app)
    results = group(shop.app_sig("body") for _ in range(3)).delay()
    processes.drain()
    assert results.get() == [result.id for result in results]


def test_a_body_is_cancelled_at_its_soft_limit_and_may_clean_up_in_a_shielded_scope(shop: Shop) -> None:
    cleaned: list[str] = []

    async def body() -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.lowlevel.checkpoint()
                cleaned.append(current().id)

    processes, result = started(shop, body, soft_time_limit=SOFT, retry=Retry(max_retries=1, interval_start=1.0, jitter=False))
    processes.drain()
    with pytest.raises(RemoteError, match="SoftTimeLimitExceeded"):
        result.get()
    assert cleaned == [result.id] * 2


def test_a_body_that_returns_after_its_soft_limit_has_succeeded(shop: Shop) -> None:
    async def body() -> str:
        with trio.CancelScope(shield=True) as scope:
            await trio.sleep(SOFT * 2)
        return f"cancelled: {scope.cancelled_caught}"

    processes, result = started(shop, body, soft_time_limit=SOFT)
    processes.drain()
    assert result.get() == "cancelled: False"


def test_a_body_that_shields_its_cleanup_beyond_its_hard_limit_has_failed(shop: Shop) -> None:
    async def body() -> str:
        shop.pack.delay("is not sent")
        with trio.CancelScope(shield=True):
            await trio.sleep(HARD * 2)
        await trio.lowlevel.checkpoint()
        return "never"

    processes, result = started(shop, body, soft_time_limit=SOFT, time_limit=HARD)
    processes.drain()
    with pytest.raises(RemoteError, match=r"TimeLimitExceeded: the task ran longer than its hard time limit of 0.15 s"):
        result.get()
    assert_kept(processes.stage, {("body", states.FAILURE): 1})


def test_the_scopes_of_a_body_are_its_own(shop: Shop) -> None:
    async def body() -> str:
        with trio.move_on_after(0.01) as scope:
            await trio.sleep_forever()
        return f"cancelled: {scope.cancelled_caught}"

    processes, result = started(shop, body, time_limit=20)
    processes.drain()
    assert result.get() == "cancelled: True"


def test_an_error_of_a_body_is_that_of_the_task_with_its_place(shop: Shop) -> None:
    async def body() -> None:
        await trio.lowlevel.checkpoint()
        raise Unavailable("the depot")

    processes, result = started(shop, body, retry=False)
    processes.drain()
    with pytest.raises(RemoteError, match="Unavailable: the depot") as failed:
        result.get()
    assert origin(failed.value.traceback).startswith("test_trio.py:")
    assert origin(failed.value.traceback).endswith("in body")


def test_a_bound_task_runs_under_trio_too() -> None:
    app = Sedano("shop")

    @app.task(name="bound", bind=True, loop="trio")
    async def bound(self: Any) -> str:
        await trio.lowlevel.checkpoint()
        return str(self.name)

    processes = Processes(in_memory(), app)
    result = app.send_task("bound")
    processes.drain()
    assert result.get() == "bound"


def test_code_under_trio_may_await_the_task_itself() -> None:
    app, threads = Sedano("shop"), list[str]()

    @app.task(name="double", loop="trio")
    async def double(number: int) -> int:
        await trio.lowlevel.checkpoint()
        threads.append(threading.current_thread().name)
        return number * 2

    assert trio.run(double, 4) == 8
    assert threads == [threading.current_thread().name]


def test_a_worker_that_stops_cancels_the_body_and_waits_for_its_cleanup(shop: Shop) -> None:
    bodies, runs, loop = Loop(60.0), list[Ran](), StandingLoop()
    began, cleaned = list[str](), list[str]()

    async def body() -> None:
        began.append("body")
        loop.cut()
        try:
            await trio.sleep_forever()
        finally:
            cleaned.append("body")

    shop.task("body", body, loop="trio")
    waiting = [ready("a", shop.app.registry.tasks["body"].function)]
    late = loop.run_together(waiting, bodies.execution, bodies.batch, runs.append)
    loop.close()
    assert ([(held.job.command.id, begun) for held, begun in late], runs) == ([("a", True)], [])
    assert (began, cleaned) == (["body"], ["body"])


def test_a_body_of_a_revoked_task_is_cancelled() -> None:
    app, bodies, runs, loop = Sedano("shop"), Loop(60.0), list[Ran](), StandingLoop()

    @app.task(name="body", loop="trio")
    async def body() -> None:
        loop.end_revoked(current())
        await trio.sleep_forever()

    loop.run_together([ready("a", app.registry.tasks["body"].function)], bodies.execution, bodies.batch, runs.append)
    loop.close()
    assert [ran.run.revoked for ran in runs] == [True]


async def waits() -> None:
    """A body for a declaration."""


@pytest.mark.parametrize(
    ("function", "loop", "why"),
    [
        (len, "trio", "task t: loop='trio' is for an async def function; a def function has no event loop, leave loop out"),
        (waits, "curio", "loop: 'curio' is not one of asyncio, trio"),
        (waits, ["trio"], r"loop: \['trio'\] is not one of asyncio, trio"),
    ],
)
def test_a_loop_that_cannot_be_honoured_is_refused(function: Any, loop: Any, why: str) -> None:
    with pytest.raises(OptionError, match=f"^{why}$"):
        Sedano("shop").task(name="t", loop=loop)(function)


def test_a_declaration_without_the_extra_says_what_to_install() -> None:
    program = "import sys; sys.modules['trio'] = None; from sedano import Sedano; Sedano('shop').task(loop='trio')"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert ended.stderr.splitlines()[-1].endswith("loop: 'trio' needs trio, which is not installed: pip install 'sedano[trio]'")


def test_a_declaration_loads_no_trio() -> None:
    program = "import sys; from sedano import Sedano; Sedano('shop').task(loop='trio'); assert 'trio' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 0


async def in_nursery(error: BaseException) -> None:
    """Raise *error* in a nursery within another one."""
    async with trio.open_nursery() as outer, trio.open_nursery() as inner:

        async def fails() -> None:
            await trio.lowlevel.checkpoint()
            raise error

        inner.start_soon(fails)
        outer.start_soon(trio.lowlevel.checkpoint)


async def in_task_group(error: BaseException) -> None:
    """Raise a group that has *error*, under asyncio."""
    raise BaseExceptionGroup("several", [ValueError("one"), BaseExceptionGroup("more", [error])])


@pytest.mark.parametrize(("loop", "raising"), [("trio", in_nursery), ("asyncio", in_task_group)])
@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_what_ends_a_process_ends_the_call_of_the_worker_within_a_nursery_as_outside(
    shop: Shop, loop: Any, raising: Any, error: BaseException
) -> None:
    async def body() -> None:
        await raising(error)

    shop.task("body", body, loop=loop)
    processes = Processes(in_memory(), shop.app)
    shop.app.send_task("body")
    with pytest.raises(type(error)) as ended:
        processes.drain()
    assert ended.value is error


def test_an_error_in_a_nursery_is_that_of_its_group(shop: Shop) -> None:
    async def body() -> None:
        await in_nursery(ValueError("the depot"))

    processes, result = started(shop, body, retry=False)
    processes.drain()
    with pytest.raises(RemoteError, match="ExceptionGroup: Exceptions from Trio nursery"):
        result.get()
