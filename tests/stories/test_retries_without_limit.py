"""A task that is tried again without a limit: it ends where its policy says, can be revoked, and is seen while it fails."""

from typing import Any

import pytest

from sedano import Retry, Sedano, current, retry
from sedano.errors import OptionError
from sedano.model import states
from sedano.model.retry import MAX_EXECUTIONS, MOST_EXECUTIONS
from sedano.testing import world
from sedano.views.failures import failures
from sedano.views.now import now
from tests.stories.kept import assert_kept, succeeded
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage

ALWAYS: dict[str, Any] = {"interval_start": 0.0, "jitter": False}


def test_a_task_without_a_limit_is_tried_until_it_succeeds(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)

    def body() -> int:
        if current().attempt < 2 * MAX_EXECUTIONS:
            raise ConnectionError("the bank does not answer")
        return current().attempt

    shop.task("tried", body, retry=Retry(max_retries=None, **ALWAYS))
    result = shop.app.send_task("tried")
    processes.drain()
    assert result.get() == 2 * MAX_EXECUTIONS
    assert_kept(stage, succeeded(tried=1))


def test_a_section_without_a_limit_does_not_end_a_task_that_has_one(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)

    def body() -> int:
        with retry(max_retries=None, **ALWAYS):
            if current().attempt < MAX_EXECUTIONS + 5:
                raise ConnectionError("the bank does not answer")
        return current().attempt

    shop.task("tried", body, retry=False)
    result = shop.app.send_task("tried")
    processes.drain()
    assert result.get() == MAX_EXECUTIONS + 5


def patient(app: Sedano, ran: list[int]) -> Any:
    """Declare a task of *app* that fails for ever, with pauses of a minute."""

    @app.task(name="patient", retry=Retry(max_retries=None, interval_start=60, interval_max=60, jitter=False))
    def body() -> None:
        ran.append(current().attempt)
        raise ConnectionError("the bank does not answer")

    return body


def test_a_task_that_fails_for_ever_is_seen_and_can_be_revoked() -> None:
    app, ran = Sedano("shop"), list[int]()
    task = patient(app, ran)
    with world(app) as one:
        result = task.delay()
        one.elapse(60 * MAX_EXECUTIONS - 30)
        assert len(ran) == MAX_EXECUTIONS
        (group,) = failures(app, 1).groups
        assert (group.task, group.error, group.number, group.state, group.new) == ("patient", "ConnectionError", 1, states.RETRY, False)
        assert (group.example, group.query) == (result.id, "name:patient state:RETRY")
        view = failures(app, 1)
        assert (view.failed, view.notes[0]) == (0, "1 task is tried again after 20 executions or more, in the state RETRY.")
        need = next(one for one in now(app, days=0).needs if one.kind == "failures")
        assert need.sentence.startswith("patient: a task is tried again after 20 executions or more with ConnectionError (")
        explained = app.control.explain(result.id).sentence
        assert explained.startswith(f"it is tried again, attempt {MAX_EXECUTIONS} of at most {MOST_EXECUTIONS - 1:,}, from ")
        app.control.revoke(result.id)
        one.elapse(3600)
        assert (result.state, len(ran)) == (states.REVOKED, MAX_EXECUTIONS)
        assert failures(app, 1).groups == ()


def test_a_task_that_failed_often_and_succeeded_is_no_failure() -> None:
    app, ran = Sedano("shop"), list[int]()

    @app.task(name="late", retry=Retry(max_retries=MAX_EXECUTIONS, **ALWAYS))
    def late() -> None:
        ran.append(1)
        if len(ran) <= MAX_EXECUTIONS:
            raise ConnectionError("the bank does not answer")

    with world(app) as one:
        result = late.delay()
        one.drain()
        assert (result.state, len(ran)) == (states.SUCCESS, MAX_EXECUTIONS + 1)
        assert failures(app, 1).groups == ()


def test_the_replacement_of_a_task_without_a_limit_has_its_own_retries() -> None:
    app, ran = Sedano("shop"), list[int]()

    @app.task(name="instead", retry=Retry(max_retries=2, **ALWAYS))
    def instead() -> int:
        ran.append(current().attempt)
        if len(ran) < 3:
            raise ConnectionError("the carrier does not answer")
        return len(ran)

    @app.task(bind=True, name="first", retry=Retry(max_retries=None, **ALWAYS))
    def first(self: Any) -> int:
        if current().attempt < MAX_EXECUTIONS + 4:
            raise ConnectionError("the bank does not answer")
        raise self.replace(instead.s())

    with world(app) as one:
        result = first.delay()
        one.drain()
        assert result.get() == 3
        assert ran == [0, 1, 2]


def test_a_replacement_of_a_replacement_is_limited_as_its_policy_says() -> None:
    app = Sedano("shop")

    @app.task(bind=True, name="again", retry=Retry(max_retries=1, **ALWAYS))
    def again(self: Any) -> int:
        raise self.replace(again.s())

    with world(app) as one:
        result = again.delay()
        one.drain()
        assert result.record().error.message == (
            f"replace: task {result.id} was attempted and replaced 20 times; the limit is 20; a task that replaces itself more often has "
            "retry=Retry(max_retries=None)"
        )


@pytest.mark.parametrize(("policy", "state"), [(Retry(max_retries=3, **ALWAYS), states.FAILURE), (Retry(max_retries=None), states.SUCCESS)])
def test_the_replacement_of_a_task_in_a_late_attempt_replaces_itself_if_its_own_policy_allows_it(policy: Retry, state: str) -> None:
    app = Sedano("shop")

    @app.task(name="last", retry=False)
    def last() -> int:
        return 7

    @app.task(bind=True, name="between", retry=policy)
    def between(self: Any) -> int:
        raise self.replace(last.s())

    @app.task(bind=True, name="first", retry=Retry(max_retries=None, **ALWAYS))
    def first(self: Any) -> int:
        if current().attempt < MAX_EXECUTIONS + 4:
            raise ConnectionError("the bank does not answer")
        raise self.replace(between.s())

    with world(app) as one:
        result = first.delay()
        one.drain()
        assert result.state == state
        if state == states.FAILURE:
            assert "retry=Retry(max_retries=None)" in result.record().error.message


@pytest.mark.parametrize("most", [None, MAX_EXECUTIONS])
def test_a_queue_that_keeps_order_refuses_a_policy_that_it_cannot_keep(most: int | None) -> None:
    app = Sedano("shop", queues=("default", "orders.fifo"))
    with pytest.raises(OptionError, match=rf"^retry: max_retries: {most} is above 19, and a queue that keeps order"):
        app.task(name="ordered", queue="orders.fifo", serial_key="order", retry=Retry(max_retries=most))(lambda order: None)
