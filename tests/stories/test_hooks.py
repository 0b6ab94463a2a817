"""Hooks are called beside each task, wherever it runs; what they raise changes nothing for it."""

import asyncio
import contextvars
from functools import partial
from typing import Any

import pytest

from sedano import EndedRun, Ignore, Publication, Retry, Sedano, TaskContext, chain, chord, current, group
from sedano.errors import OptionError, SoftTimeLimitExceeded
from sedano.testing import World, world
from tests.stories.processes import COMMANDS, Processes
from tests.stories.stage import Stage

MARK: contextvars.ContextVar[str] = contextvars.ContextVar("mark", default="")


class Seen:
    """A middleware with all hooks, which keeps what they were called with."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.calls: list[tuple[Any, ...]] = []
        self.ended: list[EndedRun] = []
        self.sent: list[Publication] = []

    def on_publish(self, message: Publication) -> None:
        """Keep it."""
        self.calls.append(("on_publish", message.task))
        self.sent.append(message)

    def before_run(self, task: TaskContext) -> None:
        """Keep it, and mark the context."""
        MARK.set(task.id)
        self.calls.append(("before_run", task.task, task.attempt))

    def after_run(self, task: TaskContext, error: BaseException | None) -> None:
        """Keep it."""
        self.calls.append(("after_run", task.task, type(error).__name__))

    def on_retry(self, run: EndedRun) -> None:
        """Keep it."""
        self.calls.append(("on_retry", run.task))
        self.ended.append(run)

    def on_failure(self, run: EndedRun) -> None:
        """Keep it."""
        self.calls.append(("on_failure", run.task))
        self.ended.append(run)

    def on_worker_start(self) -> None:
        """Keep it."""
        self.calls.append(("on_worker_start",))


@pytest.fixture
def seen() -> Seen:
    """What was called."""
    return Seen()


@pytest.fixture
def app(seen: Seen) -> Sedano:
    """An app that tries each task once more, with all hooks."""
    app = Sedano("shop", retry=Retry(max_retries=1, interval_start=1, jitter=False))
    app.use(seen)
    return app


def played(app: Sedano, *published: Any) -> World:
    """Publish in a world, and work off everything."""
    with world(app) as shop:
        for publish in published:
            publish()
        shop.drain()
    return shop


@pytest.mark.parametrize("is_async", [False, True])
def test_a_task_that_succeeds_has_its_hooks_in_order_and_in_the_context_of_its_body(app: Sedano, seen: Seen, is_async: bool) -> None:
    marks = list[str]()

    def plain() -> None:
        marks.append(MARK.get())

    async def waiting() -> None:
        await asyncio.sleep(0)
        marks.append(MARK.get())

    pack = app.task(name="pack")(waiting if is_async else plain)
    ids = list[str]()
    played(app, lambda: ids.append(pack.delay().id), lambda: ids.append(pack.delay().id))
    assert sorted(marks) == sorted(ids), "a body saw what the hook had set for it"
    assert MARK.get() == ""
    assert seen.calls.count(("on_worker_start",)) == 1
    assert seen.calls.count(("before_run", "pack", 0)) == seen.calls.count(("after_run", "pack", "NoneType")) == 2
    assert seen.calls.index(("on_worker_start",)) < seen.calls.index(("before_run", "pack", 0))
    assert seen.ended == []


@pytest.mark.parametrize("is_async", [False, True])
def test_a_failure_is_handed_over_after_its_record_with_the_exception_and_the_frames_of_the_body_alone(
    app: Sedano, seen: Seen, is_async: bool
) -> None:
    found = list[str]()

    def plain() -> None:
        raise ValueError("no price")

    async def waiting() -> None:
        raise ValueError("no price")

    charge = app.task(name="charge", tenant=lambda: "acme")(waiting if is_async else plain)
    app.on_failure(lambda run: found.append(app.result(run.task_id).state))
    ids = list[str]()
    played(app, lambda: ids.append(charge.delay().id))
    retried, failed = seen.ended
    assert (retried.task, retried.task_id, retried.root_id, retried.attempt) == ("charge", ids[0], ids[0], 0)
    assert (retried.state, retried.tenant, failed.state, failed.attempt, failed.retry_in) == ("RETRY", "acme", "FAILURE", 1, None)
    assert retried.retry_in is not None
    assert 0 < retried.retry_in <= 1
    assert isinstance(failed.exception, ValueError)
    assert (failed.error_type, failed.message) == ("ValueError", "no price")
    assert "engine/hooks.py" not in failed.traceback
    assert failed.traceback.count("  File ") == 1
    assert found == ["FAILURE"], "it is recorded already"


def test_what_a_hook_raises_is_logged_and_counted_and_changes_nothing(seen: Seen) -> None:
    app = Sedano("shop", retry=Retry(max_retries=0))

    def broken(*_: object) -> None:
        raise KeyError("a bug in a hook")

    for add in (app.on_publish, app.before_run, app.after_run, app.on_failure, app.on_worker_start):
        add(broken)
    app.use(seen)
    well = app.task(name="well")(lambda: 1)
    ill = app.task(name="ill")(lambda: 1 / 0)
    with world(app) as shop:
        results = well.delay(), ill.delay()
        shop.drain()
        assert [one.state for one in results] == ["SUCCESS", "FAILURE"]
        assert shop.telemetry.counted("HooksFailed") == 1 + 2 + 2 + 2 + 1
        (line,) = {one for one in shop.telemetry.messages("error") if "hook" in one}
    assert line == "a hook raised an exception, which changes nothing for its task"
    assert ("on_failure", "ill") in seen.calls, "the hooks after the broken one are called"


def test_hooks_are_called_with_a_body_s_tasks_and_not_with_what_workers_send(app: Sedano, seen: Seen) -> None:
    leaf = app.task(name="leaf")(lambda number=0: number)

    @app.task(name="root")
    def root() -> None:
        leaf.apply_async((7,), countdown=3)

    @app.task(name="total")
    def total(numbers: list[int]) -> int:
        return sum(numbers)

    played(app, root.delay, (group(leaf.s(1), leaf.s(2)) | total.s()).delay)
    sent = [message.task for message in seen.sent]
    assert sent.count("root") == 1
    assert "total" not in sent, "a worker sends it"
    assert not [name for name in sent if name.startswith("sedano.")]
    (own,) = [message for message in seen.sent if message.args == (7,)]
    assert (own.task, own.delay, own.queue, own.tenant) == ("leaf", 3, "default", None)
    assert ("before_run", "total", 0) in seen.calls


def test_a_replaced_body_has_not_failed_and_an_ignored_one_ends_without_success_hooks(app: Sedano, seen: Seen) -> None:
    done = app.task(name="done")(lambda: 1)

    @app.task(name="replaced")
    def replaced() -> None:
        replaced.replace(done.si())

    @app.task(name="ignored")
    def ignored() -> None:
        raise Ignore("not today")

    played(app, replaced.delay, ignored.delay)
    assert ("after_run", "replaced", "NoneType") in seen.calls
    assert ("after_run", "ignored", "Ignore") in seen.calls
    assert "replaced" not in [run.task for run in seen.ended]


def test_a_soft_time_limit_that_meets_a_hook_ends_the_body(app: Sedano) -> None:
    ran = list[int]()

    def late(task: TaskContext) -> None:
        raise SoftTimeLimitExceeded

    app.before_run(late)
    slow = app.task(name="slow", retry=Retry(max_retries=0))(lambda: ran.append(1))
    with world(app) as shop:
        result = slow.delay()
        shop.drain()
        assert result.state == "FAILURE"
    assert ran == []


def test_hooks_run_on_every_stage(stage: Stage, app: Sedano, seen: Seen) -> None:
    fails = app.task(name="fails", retry=Retry(max_retries=0))(lambda: current() and 1 / 0)
    processes = Processes(stage, app)
    result = fails.delay()
    processes.drain()
    assert result.state == "FAILURE"
    assert [call for call in seen.calls if call != ("on_worker_start",)] == [
        ("on_publish", "fails"), ("before_run", "fails", 0), ("after_run", "fails", "ZeroDivisionError"), ("on_failure", "fails"),
    ]  # fmt: skip


def test_what_is_no_hook_is_refused_with_what_to_write(app: Sedano) -> None:
    async def waits(task: TaskContext) -> None:
        """Wait."""

    for add in (app.on_publish, app.before_run, app.after_run, app.on_retry, app.on_failure, app.on_worker_start):
        with pytest.raises(OptionError, match="cannot be called; give a function"):
            add(7)  # type: ignore[type-var]
        with pytest.raises(OptionError, match="waits is an async function; a hook is a plain `def`"):
            add(waits)  # type: ignore[type-var]
    with pytest.raises(OptionError, match="object has none of the hooks on_publish, before_run"):
        app.use(object())

    class Half:
        before_run = None
        on_failure = staticmethod(lambda run: None)

    with pytest.raises(OptionError, match="before_run: None cannot be called"):
        app.use(Half())
    assert Sedano("other").registry.hooks == {}


def test_a_task_that_is_revoked_while_its_attempt_runs_is_reported_once(stage: Stage) -> None:
    app, seen, ran = Sedano("shop", retry=Retry(max_retries=3, interval_start=1, jitter=False)), list[tuple[Any, ...]](), list[int]()
    app.on_revoke(lambda run: seen.append((run.task, run.state, run.attempt, run.error_type, run.message, run.exception)))

    @app.task(name="pay")
    def pay() -> None:
        ran.append(current().attempt)
        app.control.revoke(current().id)
        raise ValueError("not yet")

    processes = Processes(stage, app)
    result = pay.delay()
    first = [*stage.peek(COMMANDS)]
    processes.step()
    later = [*stage.peek(COMMANDS)]
    processes.drain()
    for again in (first, later):
        stage.ports.queues.send(COMMANDS, again)
        processes.drain()
    assert (result.state, ran) == ("REVOKED", [0])
    assert seen == [("pay", "REVOKED", 1, "TaskRevoked", "revoked while an earlier attempt ran", None)]


def test_an_end_of_a_canvas_that_a_worker_records_as_revoked_is_reported_once(stage: Stage) -> None:
    app, seen = Sedano("shop", retry=False), list[tuple[Any, ...]]()
    app.on_revoke(lambda run: seen.append((run.task, run.state, run.task_id, run.root_id)))

    @app.task(name="late")
    def late() -> None: ...

    @app.task(name="skipped")
    def skipped() -> None: ...

    @app.task(name="last")
    def last() -> None: ...

    processes = Processes(stage, app)
    result = chain(late.si().set(expires=10, countdown=20), skipped.si(), last.si()).delay()
    sent = [*stage.peek(COMMANDS)]
    processes.drain()
    stage.ports.queues.send(COMMANDS, sent)
    processes.drain()
    (first, root), (end, of) = ((task_id, root_id) for _, _, task_id, root_id in seen)
    assert [one[:2] for one in seen] == [("late", "EXPIRED"), ("last", "REVOKED")]
    assert (result.state, end, root, of) == ("REVOKED", result.id, first, first)


def test_a_superseded_call_of_a_debounce_is_reported() -> None:
    app, seen, ran = Sedano("shop", retry=False), list[tuple[str, str, str]](), list[int]()
    app.on_revoke(lambda run: seen.append((run.task, run.state, run.error_type)))

    @app.task(name="index", debounce="5s")
    def index(number: int) -> None:
        ran.append(number)

    played(app, *(partial(index.delay, number) for number in range(3)))
    assert ran == [2]
    assert [one[:2] for one in seen] == [("index", "REVOKED")] * 2


def test_a_run_that_a_worker_ends_as_revoked_is_reported_once() -> None:
    app, seen = Sedano("shop", retry=False), list[tuple[str, str, bool]]()
    app.on_revoke(lambda run: seen.append((run.task, run.state, run.exception is not None)))
    app.on_failure(lambda run: seen.append((run.task, run.state, False)))

    @app.task(name="ignores")
    def ignores() -> None:
        raise Ignore("paid meanwhile")

    @app.task(name="late")
    def late() -> None: ...

    @app.task(name="good")
    def good() -> None: ...

    with world(app) as shop:
        ignores.delay()
        late.apply_async(countdown=20, expires=10)
        good.apply_async(countdown=20).revoke()
        good.delay()
        shop.drain()
    assert sorted(seen) == [("ignores", "REVOKED", True), ("late", "EXPIRED", False)]


def test_a_hook_that_reads_the_revoked_end_of_its_task_loses_no_follow_up() -> None:
    app, told = Sedano("shop"), list[str]()

    @app.on_revoke
    def read(run: EndedRun) -> None:
        app.result(run.task_id).get(timeout=1)

    @app.task(name="late")
    def late() -> int:
        return 1

    @app.task(name="sums")
    def sums(values: list[int]) -> int:
        return sum(values)

    @app.task(name="tell")
    def tell(task_id: str) -> None:
        told.append(task_id)

    with world(app) as made:
        result = chord([late.si().set(expires=10, countdown=20), late.si()])(sums.s().on_error(tell.s()))
        made.drain()
        made.elapse(4_000)
        made.drain()
        assert (result.state, told) == ("FAILURE", [result.id])
        assert made.telemetry.counted("HooksFailed") == 1


@pytest.mark.parametrize("is_wanted", [True, False])
def test_a_revocation_costs_a_read_only_for_a_hook_that_is_called_for_it(stage: Stage, is_wanted: bool) -> None:
    app = Sedano("shop", retry=Retry(max_retries=3, interval_start=1, jitter=False))
    (app.on_revoke if is_wanted else app.on_failure)(print)

    @app.task(name="pay")
    def pay() -> None: ...

    processes = Processes(stage, app)
    assert (processes.worker._following.hooks is not None) is is_wanted
