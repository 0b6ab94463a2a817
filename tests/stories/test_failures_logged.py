"""A body that fails leaves one line that says which task, where and what next; what a body logs itself names its task."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from sedano import Ignore, Retry, Sedano, current, testing
from sedano.engine.worker.failure_log import FAILED, IGNORED, TRIED_AGAIN, UNDECIDED
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.errors import Unavailable
from sedano.memory.telemetry import LoggedLine
from sedano.model.ledger.records import Outcome, RecordAnswer
from sedano.testing import World
from tests.stories.mutants import Delegating

SECRET = "4111-1111"
ONCE_MORE = Retry(max_retries=1, interval_start=2, jitter=False)
USERS = logging.getLogger("shop.tests")


class Kept(logging.Handler):
    """Keeps the records that it is given, and how they are formatted."""

    def __init__(self) -> None:
        """Keep none yet."""
        super().__init__()
        self.records: list[logging.LogRecord] = []
        self.texts: list[str] = []
        self.setFormatter(logging.Formatter("%(task)s %(task_id)s %(attempt)s %(trace_id)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one."""
        self.records.append(record)
        self.texts.append(self.format(record))


@contextmanager
def kept() -> Iterator[Kept]:
    """Yield a handler of what the user's logger says."""
    handler, level = Kept(), USERS.level
    USERS.addHandler(handler)
    USERS.setLevel(logging.INFO)
    try:
        yield handler
    finally:
        USERS.removeHandler(handler)
        USERS.setLevel(level)


class Away(Delegating):
    """A ledger that records nothing any more."""

    def record(self, outcomes: Sequence[Outcome]) -> list[RecordAnswer]:
        """Be away."""
        raise Unavailable("the ledger is away")


def failures(world: World) -> list[LoggedLine]:
    """The lines about failed bodies."""
    return [line for line in world.telemetry.lines if line.message in (FAILED, TRIED_AGAIN, UNDECIDED, IGNORED)]


def charging(error: Callable[[], Exception], **options: Any) -> tuple[Sedano, Any]:
    """An app whose task `charge` raises *error*."""
    app = Sedano("shop")

    def charge(card: str) -> None:
        raise error()

    return app, app.task(name="charge", **options)(charge)


def test_a_failing_body_logs_one_line_an_attempt_with_its_traceback_and_no_argument() -> None:
    app, charge = charging(lambda: ValueError("out of stock"), retry=ONCE_MORE)
    with testing.world(app) as world:
        result = charge.delay(SECRET)
        world.drain()
    again, last = failures(world)
    assert (again.level, again.message, last.level, last.message) == ("warning", TRIED_AGAIN, "error", FAILED)
    assert again.fields["retry_in"] == 2.0
    assert "retry_in" not in last.fields
    assert [line.fields["attempt"] for line in (again, last)] == [0, 1]
    fields = last.fields
    assert (fields["task"], fields["task_id"], fields["error_type"], fields["error"]) == ("charge", result.id, "ValueError", "out of stock")
    assert "raise error()" in fields["traceback"]
    assert [frame.rpartition("/")[2].split(":")[0] for frame in fields["frames"]] == ["test_failures_logged.py"]
    assert fields["frames"][0].endswith(" in charge")
    assert SECRET not in str([line.fields for line in world.telemetry.lines])
    assert fields["trace_id"] == result.id.replace("-", "")
    assert again.fields["span_id"] != fields["span_id"]


def test_the_frames_are_the_applications_and_not_those_of_libraries() -> None:
    app = Sedano("shop")

    def parse(text: str) -> None:
        asyncio.run(int(text))  # type: ignore[arg-type] # the standard library raises

    with testing.world(app) as world:
        app.task(name="parse", retry=False)(parse).delay("5")
        world.drain()
    (line,) = failures(world)
    assert "asyncio" in line.fields["traceback"]
    assert [frame.rpartition(" in ")[2] for frame in line.fields["frames"]] == ["parse"]


def test_an_async_body_and_a_time_limit_are_logged_like_others() -> None:
    app = Sedano("shop")

    async def charge() -> None:
        raise KeyError("no such card")

    def spin() -> None:
        while True:
            pass

    tasks = [app.task(name="charge", retry=False)(charge), app.task(name="spin", retry=False, time_limit=0.05)(spin)]
    with testing.world(app) as world:
        for task in tasks:
            task.delay()
        world.drain()
    assert [(line.level, line.fields["task"], line.fields["error_type"]) for line in failures(world)] == [
        ("error", "charge", "KeyError"), ("error", "spin", "TimeLimitExceeded"),
    ]  # fmt: skip


def test_a_failure_whose_outcome_is_not_recorded_is_a_warning_and_is_not_lost() -> None:
    app, charge = charging(lambda: ValueError("out of stock"), retry=False)
    with testing.world(app) as world:
        charge.delay(SECRET)
        world.worker.recording._ports = replace(world.ports, ledger=Away(world.ports.ledger))
        world.step()
    (line,) = failures(world)
    assert (line.level, line.message, line.fields["error"]) == ("warning", UNDECIDED, "out of stock")


def test_what_a_body_raises_on_purpose_is_no_error() -> None:
    app, charge = charging(lambda: Ignore("paid already"))
    with testing.world(app) as world:
        charge.delay(SECRET)
        world.drain()
    (line,) = failures(world)
    assert (line.level, line.message) == ("info", IGNORED)


def test_a_success_and_a_task_that_never_ran_leave_no_line_of_a_failure() -> None:
    app, charge = charging(lambda: ValueError("x"))
    with testing.world(app) as world:
        app.task(name="fine")(lambda: None).delay()
        charge.apply_async((SECRET,), expires=-1)
        world.drain()
    assert failures(world) == []


@pytest.mark.parametrize("threads", [1, 3], ids=["inline", "on threads"])
def test_every_record_of_standard_logging_names_the_task_that_wrote_it(threads: int) -> None:
    app, asked = Sedano("shop"), {}

    def body(n: int) -> None:
        USERS.info("at work on %s", n)
        asked[current().id] = current().span.trace_id

    task = app.task(name="body")(body)
    with kept() as handler, testing.world(app, settings=WorkerSettings(lanes=0, concurrency=threads)) as world:
        for n in range(5):
            task.delay(n)
        world.drain()
        USERS.info("outside")
    assert sorted(handler.texts[:-1]) == sorted(f"body {task_id} 0 {trace}" for task_id, trace in asked.items())
    assert {record.task_id for record in handler.records[:-1]} == set(asked)  # type: ignore[attr-defined] # it names its task
    assert handler.texts[-1] == "   "


def test_async_bodies_beside_one_another_log_under_their_own_tasks() -> None:
    app = Sedano("shop")

    async def body(n: int) -> None:
        await asyncio.sleep(0)
        USERS.info("%s", n, extra={"n": current().id})

    task = app.task(name="body")(body)
    with kept() as handler, testing.world(app) as world:
        for n in range(5):
            task.delay(n)
        world.drain()
    assert [record.__dict__["n"] for record in handler.records] == [record.__dict__["task_id"] for record in handler.records]
    assert len({record.__dict__["n"] for record in handler.records}) == 5


def test_a_body_may_log_a_task_id_of_its_own() -> None:
    app = Sedano("shop")

    def body() -> None:
        USERS.info("mine", extra={"task_id": "mine", "task": "other"})

    with kept() as handler, testing.world(app) as world:
        result = app.task(name="body", retry=False)(body).delay()
        world.drain()
        assert result.get() is None
    (record,) = handler.records
    assert (record.__dict__["task_id"], record.__dict__["task"], record.__dict__["attempt"]) == ("mine", "other", 0)


def test_another_factory_of_records_stays_in_use() -> None:
    class Marked(logging.LogRecord):
        mark = "theirs"

    def factory(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = Marked(*args, **kwargs)
        record.__dict__["otel"] = "yes"
        return record

    app, before = Sedano("shop"), logging.getLogRecordFactory()
    logging.setLogRecordFactory(factory)
    try:
        with kept() as handler, testing.world(app) as world:
            result = app.task(name="body")(lambda: USERS.info("x")).delay()
            world.drain()
    finally:
        logging.setLogRecordFactory(before)
    (record,) = handler.records
    assert isinstance(record, Marked)
    assert (record.__dict__["otel"], record.mark, record.__dict__["task_id"]) == ("yes", "theirs", result.id)
