"""Trying again: the task's policy, the sections that answer for a part of a body, their pauses, and where it ends."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from sedano import Retry, Sedano, current, optional, poisonous, retry
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.errors import OptionError, RemoteError
from sedano.model import states
from sedano.model.retry import MAX_EXECUTIONS
from sedano.ports import Outgoing
from sedano.testing import world
from tests.stories.kept import assert_kept, lines, succeeded
from tests.stories.processes import COMMANDS, INVOCATION_S, Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage, in_memory

STEADY: dict[str, Any] = {"interval_start": 0.0, "jitter": False}


def run(stage: Stage, shop: Shop, body: Callable[[], Any], **options: Any) -> Any:
    """Publish *body* as a task, drain, and return its result's handle."""
    processes = Processes(stage, shop.app)
    shop.task("tried", body, **options)
    result = shop.app.send_task("tried")
    processes.drain()
    return result


def fail(text: str = "no") -> None:
    """Fail."""
    raise RuntimeError(text)


def test_a_task_is_tried_three_times_more_with_growing_pauses(stage: Stage, shop: Shop) -> None:
    moments: list[float] = []

    def note() -> None:
        moments.append(stage.clock.now())
        fail()

    result = run(stage, shop, note, retry=Retry(interval_start=2.0, jitter=False))
    pauses = [later - earlier for earlier, later in pairwise(moments)]
    assert [round(pause) for pause in pauses] == [2, 4, 8]
    assert result.state == states.FAILURE
    assert stage.telemetry.counted("TasksRetried", task="tried") == 3
    assert [line["type"] for line in lines(stage, "task-retried")] == ["task-retried"] * 3
    assert_kept(stage, {("tried", states.FAILURE): 1})


@pytest.mark.parametrize(("option", "runs"), [(False, 1), (True, 4), (Retry(max_retries=1), 2)])
def test_the_policy_of_an_app_may_be_no_retries_or_the_default(option: Any, runs: int) -> None:
    app, ran = Sedano("shop", retry=option), list[int]()

    @app.task(name="tried")
    def tried() -> None:
        ran.append(1)
        fail()

    with world(app) as here:
        result = tried.delay()
        here.drain()
        assert (result.state, len(ran)) == (states.FAILURE, runs)


@pytest.mark.parametrize("option", [3, "no", {"max_retries": 3}])
def test_what_is_no_policy_is_refused_at_the_app_and_at_the_task(option: Any) -> None:
    for declare in (lambda: Sedano("shop", retry=option), lambda: Sedano("shop").task(retry=option)(fail)):
        with pytest.raises(OptionError, match="is not a retry policy; give a sedano"):
            declare()


def test_a_section_has_a_policy_of_its_own(stage: Stage, shop: Shop) -> None:
    def body() -> None:
        with retry(max_retries=1, **STEADY):
            fail()

    assert run(stage, shop, body, retry=Retry(max_retries=9, **STEADY)).state == states.FAILURE
    assert shop.ran["tried"] == 2


def test_each_section_counts_its_own_failures_in_a_row(stage: Stage, shop: Shop) -> None:
    def body() -> int:
        with retry(max_retries=2, **STEADY):
            if current().attempt < 2:
                fail("first")
        with retry(max_retries=2, **STEADY):
            if current().attempt < 4:
                fail("second")
        return current().attempt

    assert run(stage, shop, body).get() == 4


def test_a_section_in_a_branch_does_not_share_the_count_of_another(stage: Stage, shop: Shop) -> None:
    def body() -> int:
        if current().attempt % 2 == 0:
            with retry(max_retries=1, **STEADY):
                if current().attempt < 4:
                    fail("a branch")
        else:
            with retry(max_retries=1, **STEADY):
                fail("another branch")
        return current().attempt

    assert run(stage, shop, body).get() == 4


def test_a_named_section_goes_on_counting_where_the_order_of_a_loop_changes(stage: Stage, shop: Shop) -> None:
    def body() -> None:
        orders = ["a", "b", "c"]
        for order in orders if current().attempt % 2 == 0 else reversed(orders):
            with retry(max_retries=2, name=order, **STEADY):
                if order == "b":
                    fail(order)

    assert run(stage, shop, body).state == states.FAILURE
    assert shop.ran["tried"] == 3


def test_sections_that_fail_by_turns_end_at_the_most_executions(stage: Stage, shop: Shop) -> None:
    def body() -> None:
        with retry(max_retries=1, **STEADY):
            if current().attempt % 2 == 0:
                fail("even")
        with retry(max_retries=1, **STEADY):
            fail("odd")

    assert run(stage, shop, body).state == states.FAILURE
    assert shop.ran["tried"] <= MAX_EXECUTIONS
    assert_kept(stage, {("tried", states.FAILURE): 1})


def test_a_poisonous_section_fails_for_good_at_once(stage: Stage, shop: Shop) -> None:
    def body() -> None:
        with poisonous():
            fail("card refused")

    with pytest.raises(RemoteError, match="RuntimeError: card refused"):
        run(stage, shop, body).get()
    assert shop.ran["tried"] == 1


def test_the_innermost_section_decides(stage: Stage, shop: Shop) -> None:
    def body() -> None:
        with retry(max_retries=3, **STEADY), poisonous():
            fail()

    assert run(stage, shop, body).state == states.FAILURE
    assert shop.ran["tried"] == 1


def test_an_optional_section_goes_on_with_a_warning(stage: Stage, shop: Shop) -> None:
    def body() -> str:
        with optional():
            fail("no stamp")
        return "sent"

    assert run(stage, shop, body).get() == "sent"
    (line,) = [line for line in stage.telemetry.lines if line.message == "an optional section failed"]
    assert line.fields["error"] == "RuntimeError: no stamp"
    assert line.fields["task"] == "tried"


def test_a_section_on_a_thread_of_the_worker_warns_through_its_telemetry(shop: Shop) -> None:
    def body() -> None:
        with optional():
            fail("no stamp")

    stage = in_memory()
    processes = Processes(stage, shop.app, WorkerSettings(concurrency=2))
    shop.task("tried", body)
    shop.app.send_task("tried")
    processes.drain()
    assert "an optional section failed" in stage.telemetry.messages("warning")


def test_an_optional_section_ignores_only_what_it_names(stage: Stage, shop: Shop) -> None:
    def body() -> None:
        with optional(KeyError):
            fail()

    assert run(stage, shop, body, retry=False).state == states.FAILURE


def test_a_policy_that_cannot_be_honoured_is_refused_by_name() -> None:
    with pytest.raises(OptionError, match="max_retries"), retry(max_retries=1_000_000):
        pass


def test_what_a_failed_attempt_published_is_not_sent(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    result = shop.flaky.delay(2)
    processes.drain()
    assert result.get() == 2
    assert shop.ran == {"flaky": 3, "pack": 1}
    assert_kept(stage, succeeded(flaky=1, pack=1))


def test_the_record_of_a_failure_holds_type_message_and_traceback(stage: Stage, shop: Shop) -> None:
    record = run(stage, shop, lambda: fail("out of stock"), retry=False).record()
    assert (record.error.type_name, record.error.message) == ("RuntimeError", "out of stock")
    assert "in fail" in record.error.traceback


def test_an_exception_that_cannot_be_shown_is_still_a_failure(stage: Stage, shop: Shop) -> None:
    class Shy(Exception):
        def __str__(self) -> str:
            raise ValueError("never")

    def body() -> None:
        raise Shy

    with pytest.raises(RemoteError, match=r"Shy: .the exception cannot be shown"):
        run(stage, shop, body, retry=False).get()


def test_an_unclaimed_task_is_retried_too(stage: Stage, shop: Shop) -> None:
    def body() -> int:
        if current().attempt < 2:
            fail()
        return current().attempt

    assert run(stage, shop, body, delivery="record_once").get() == 2
    assert shop.ran["tried"] == 3


def test_copies_of_an_unclaimed_task_that_are_retried_by_several_workers_do_not_multiply() -> None:
    """Found by simulation: each of two workers asked for a next attempt of its own, and each of those was copied again."""
    stage, shop = in_memory(), Shop()

    def never() -> None:
        raise ValueError("not today")

    shop.task("never", never, delivery="at_least_once", ignore_result=True, retry=Retry(max_retries=6, **STEADY))
    processes = Processes(stage, shop.app)
    workers = [processes.another_worker(name=f"w{n}") for n in range(2)]
    shop.app.send_task("never")
    for _ in range(8):
        for message in stage.peek(COMMANDS):
            stage.ports.queues.send(COMMANDS, [Outgoing(message.body)])
        for worker in workers:
            for _ in range(len(stage.peek(COMMANDS)) // 2):
                deliveries = stage.ports.queues.receive(COMMANDS, 1)
                worker.work(deliveries, stage.clock.now() + INVOCATION_S)
                stage.ports.queues.delete(deliveries)
    assert shop.ran["never"] <= 2 * 7
