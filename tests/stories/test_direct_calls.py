"""Direct calls: one task runs in the worker now and its value is the answer, with its whole life and without a queue."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from sedano import Sedano, chain, current, testing
from sedano.engine.publisher.direct_calls import call
from sedano.engine.worker.call_answers import CallAnswers
from sedano.errors import (
    CanvasError,
    KeyReused,
    MessageRefused,
    OptionError,
    RemoteError,
    ResultTimeout,
    TaskExpired,
    TaskRevoked,
    Unavailable,
    WaitInsideTask,
)  # fmt: skip
from sedano.memory.direct_calls import MemoryDirectCalls
from sedano.memory.key_store import MemoryKeyStore
from sedano.model import refusals
from sedano.model.direct_calls import UNSEALED, DirectCall, audience, request_text
from sedano.ports import PARKED, RECORDS
from sedano.ports.absent import absent
from tests.stories.mutants import Delegating
from tests.stories.processes import COMMANDS, INVOCATION_S, Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage


@pytest.fixture
def processes(stage: Stage, shop: Shop) -> Processes:
    """One worker over the stage, which answers the direct calls of the shop."""
    made, direct = Processes(stage, shop.app), MemoryDirectCalls()
    direct.answer = lambda call, _: CallAnswers(made.worker, shop.app.registry.tasks).answer(call, stage.clock.now() + INVOCATION_S)
    shop.app.attach(replace(stage.ports, direct_calls=direct))
    return made


def test_a_direct_call_returns_the_value_and_no_queue_holds_anything_of_it(stage: Stage, shop: Shop, processes: Processes) -> None:
    assert shop.app.invoke(shop.add, 2, 3) == 5
    assert (shop.ran["add"], stage.peek(COMMANDS), stage.peek(PARKED)) == (1, [], [])


def test_a_direct_call_leaves_the_record_and_the_history_of_a_task(stage: Stage, shop: Shop, processes: Processes) -> None:
    assert shop.app.invoke(shop.add.s(2, 3).set(task_id="one", tenant="acme")) == 5
    assert shop.app.result("one").get(timeout=0) == 5
    assert len(stage.peek(RECORDS)) == 1
    processes.drain()
    assert stage.peek(RECORDS) == []


def test_the_same_call_again_has_no_second_effect(shop: Shop, processes: Processes) -> None:
    call = shop.buy.s("shoes").set(task_id="order-17")
    assert [shop.app.invoke(call), shop.app.invoke(call)] == ["shoes", "shoes"]
    processes.restart()
    assert shop.app.invoke(call) == "shoes"
    processes.drain()
    assert (shop.ran["buy"], shop.ran["pack"], shop.ran["label"]) == (1, 1, 1)


def test_the_same_call_at_another_worker_sends_nothing_again(stage: Stage, shop: Shop, processes: Processes) -> None:
    shop.task("note", lambda: None, delivery="at_least_once", ignore_result=True)
    shop.task("noted", lambda: shop.app.send_task("note") and "done")
    call = shop.app.signature("noted").set(task_id="order-17")
    for _ in range(3):
        assert shop.app.invoke(call) == "done"
        processes.drain()
        processes.restart()
    assert (shop.ran["noted"], shop.ran["note"]) == (1, 1)
    assert stage.ports.ledger.read(["order-17"])["order-17"].followed


class FollowsNothing(Delegating):
    """A ledger that does not record that follow-ups were sent."""

    def follow(self, task_id: str, message_id: str) -> None:
        """Do not answer."""
        raise Unavailable("the ledger is away")


def test_a_call_whose_follow_ups_could_not_be_noted_is_answered(stage: Stage, shop: Shop, processes: Processes) -> None:
    processes.restart(replace(stage.ports, ledger=FollowsNothing(stage.ports.ledger)))
    assert shop.app.invoke(shop.buy.s("shoes").set(task_id="order-17")) == "shoes"
    (line,) = [line for line in stage.telemetry.lines if line.message == "follow-ups not noted"]
    assert (line.level, line.fields) == ("warning", {"task_id": "order-17", "error": "the ledger is away"})
    processes.restart()
    assert shop.app.invoke(shop.buy.s("shoes").set(task_id="order-17")) == "shoes"
    assert stage.ports.ledger.read(["order-17"])["order-17"].followed, "the second call sent it again, and noted it"


def test_a_call_that_published_nothing_has_no_further_write(stage: Stage, shop: Shop, processes: Processes) -> None:
    assert shop.app.invoke(shop.add.s(2, 3).set(task_id="one")) == 5
    processes.restart()
    assert shop.app.invoke(shop.add.s(2, 3).set(task_id="one")) == 5
    assert stage.audit.writes["follow"] == 0


def test_what_a_task_publishes_in_a_direct_call_goes_to_its_queues(shop: Shop, processes: Processes) -> None:
    assert shop.app.invoke(shop.once, 7) == 7
    assert shop.app.invoke(shop.loose, 8) == 8, "the value of a task that keeps no result is in the answer"
    processes.drain()
    assert shop.ran["pack"] == 2


def test_a_task_that_fails_raises_its_error_at_the_caller(shop: Shop, processes: Processes) -> None:
    with pytest.raises(RemoteError, match="ValueError: out of stock") as failed:
        shop.app.invoke(shop.fails)
    assert "out of stock" in failed.value.traceback


def test_a_task_that_is_tried_again_does_so_through_its_queue_and_the_caller_waits(shop: Shop, processes: Processes) -> None:
    with pytest.raises(ResultTimeout, match="is RETRY after RuntimeError: not yet and did not end within"):
        shop.app.invoke(shop.flaky.s(2).set(task_id="flaky-1"), timeout=0.001)
    processes.drain()
    assert shop.app.invoke(shop.flaky.s(2).set(task_id="flaky-1")) == 2


def test_a_large_argument_and_a_large_result_travel_through_the_blobs(shop: Shop, processes: Processes) -> None:
    text = "x" * 100_000
    assert shop.app.invoke(shop.big, text) == text + "!"


def test_a_call_of_a_paused_queue_waits_in_the_queue(stage: Stage, shop: Shop, processes: Processes) -> None:
    shop.app.control.pause_queue("default")
    with pytest.raises(ResultTimeout):
        shop.app.invoke(shop.add.s(2, 3).set(task_id="waits"), timeout=0.001)
    assert shop.ran["add"] == 0
    shop.app.control.resume_queue("default")
    processes.drain()
    assert shop.app.result("waits").get(timeout=0) == 5


def test_a_task_that_was_revoked_or_has_expired_says_so(stage: Stage, shop: Shop, processes: Processes) -> None:
    shop.app.control.revoke("gone")
    with pytest.raises(TaskRevoked):
        shop.app.invoke(shop.add.s(1, 1).set(task_id="gone"))
    with pytest.raises(TaskExpired):
        shop.app.invoke(shop.add.s(1, 1).set(expires=-1.0))
    assert shop.ran["add"] == 0


def test_a_key_binds_the_arguments_of_a_direct_call_too(shop: Shop, processes: Processes) -> None:
    assert shop.app.invoke(shop.add.s(2, 3).set(dedup_key="k")) == 5
    assert shop.app.invoke(shop.add.s(2, 3).set(dedup_key="k")) == 5
    with pytest.raises(KeyReused):
        shop.app.invoke(shop.add.s(4, 4).set(dedup_key="k"))
    assert shop.ran["add"] == 1


class QueueAway(Delegating):
    """Queues that take nothing."""

    def send(self, queue: str, messages: Any) -> Any:
        """Refuse."""
        raise Unavailable("no queue")


def test_a_call_that_cannot_run_now_and_whose_queue_is_away_is_not_confirmed(stage: Stage, shop: Shop, processes: Processes) -> None:
    shop.app.control.pause_queue("default")
    processes.restart(replace(stage.ports, queues=QueueAway(stage.ports.queues)))
    with pytest.raises(Unavailable, match=r"^task t1: it cannot run now, and its queue did not take it: no queue; no queue keeps"):
        shop.app.invoke(shop.add.s(1, 1).set(task_id="t1"))


def test_a_task_that_no_worker_knows_is_refused_at_once_and_not_parked(stage: Stage, shop: Shop, processes: Processes) -> None:
    with pytest.raises(MessageRefused, match=r"no task 'shop\.nothing' in this deployment") as refused:
        shop.app.invoke(shop.app.signature("shop.nothing"))
    assert refused.value.code == refusals.UNKNOWN_TASK
    assert stage.peek(PARKED) == []
    assert stage.telemetry.counted("DirectCallsRefused") == 1


def test_a_message_that_cannot_run_is_parked_and_its_caller_learns_why(stage: Stage, shop: Shop, processes: Processes) -> None:
    ports = shop.app.outlet.ports
    _, message = shop.app.outlet.compose(shop.add.s(1, 1).spec)
    told, now = json.loads(message.outgoing.body), int(stage.clock.now())
    body = json.dumps({**told, "clock": str(int(told["clock"]) + 3_600_000_000)})
    call = DirectCall("default", ports.seals.seal(body.encode(), audience("default"), now, now), body)
    (code, field, detail) = json.loads(ports.direct_calls.call(request_text(call), 1.0))["refused"]
    assert (code, field) == (refusals.CLOCK_AHEAD, "clock")
    (parked,) = stage.peek(PARKED)
    assert (parked.attributes["reason"], parked.attributes["detail"]) == (code, detail)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda call: call._replace(seal=""), "malformed"),
        (lambda call: call._replace(body=call.body.replace("[2,3]", "[2,4]")), "bad_signature"),
        (lambda call: call._replace(queue="bulk"), "wrong_audience"),
        (lambda call: call._replace(seal=call.seal.replace(";k=", ";k=x")), "unknown_key"),
    ],
)
def test_a_call_whose_seal_does_not_hold_runs_nothing(
    stage: Stage, shop: Shop, processes: Processes, change: Callable[[DirectCall], DirectCall], why: str
) -> None:
    direct: Any = shop.app.outlet.ports.direct_calls
    answer = direct.answer

    def changed(call: Any, seconds: float) -> Any:
        given = DirectCall(call["queue"], call["seal"], call["body"])
        return answer(json.loads(request_text(change(given))), seconds)

    direct.answer = changed
    with pytest.raises(MessageRefused) as refused:
        shop.app.invoke(shop.add, 2, 3)
    assert (refused.value.code, refused.value.field, refused.value.detail) == (UNSEALED, "seal", why)
    assert (shop.ran["add"], stage.peek(PARKED)) == (0, [])


def test_a_call_that_was_overheard_is_worthless_a_few_minutes_later(stage: Stage, shop: Shop, processes: Processes) -> None:
    direct: Any = shop.app.outlet.ports.direct_calls
    heard, answer = [], direct.answer
    direct.answer = lambda call, seconds: (heard.append(call), answer(call, seconds))[1]
    assert shop.app.invoke(shop.add, 2, 3) == 5
    stage.clock.advance(121.0)
    assert answer(heard[0], 1.0) == {"refused": [UNSEALED, "seal", "expired"]}


def test_what_needs_a_queue_is_refused_with_what_to_write() -> None:
    app = Sedano("shop", queues=("default", "default-high", "orders.fifo"))
    ship = app.task(name="ship", queue="orders.fifo", serial_key="{n}")(lambda n: n)
    add = app.task(name="add")(lambda n: n)
    late = app.task(name="late", debounce="30s")(lambda n: n)
    gathered = app.task(name="gathered", batch=(100, "5s"), ignore_result=True)(lambda calls: None)
    rated = app.task(name="rated", rate="200/s")(lambda n: n)
    with testing.world(app):
        for call, said in (
            (ship.s(1), "queue: 'orders.fifo' keeps order"), (add.s(1).set(countdown=5), "countdown, eta: a direct call runs now"),
            (add.s(1).set(dedup_key="k", on_duplicate="drop"), "on_duplicate: 'drop' needs a queue"),
            (add.s(1).set(priority="high"), "priority: a direct call runs now, in no queue"),
            (add.s(1).set(eta=datetime.now(UTC)), "countdown, eta: a direct call runs now"),
            (add.s(1).set(queue="orders.fifo"), "queue: 'orders.fifo' keeps order, and a direct call"),
            (late.s(1), "late: it collects calls"), (gathered.s(1), "gathered: it collects calls"),
        ):  # fmt: skip
            with pytest.raises(OptionError, match=said):
                app.invoke(call)
        assert app.invoke(rated.s(1).set(queue="default")) == 1
        with pytest.raises(CanvasError, match="a direct call runs one task without callbacks"):
            app.invoke(add.s(1).set(link=add.s()))
        for wrong, said in ((chain(add.s(1), add.s()), "neither a task nor a signature"), (3, "3 is neither a task nor a signature")):
            with pytest.raises(OptionError, match=said):
                app.invoke(wrong)  # type: ignore[call-overload]
        with pytest.raises(OptionError, match="a signature has its arguments"):
            app.invoke(add.s(1), 2)  # type: ignore[call-overload]
        for seconds in (0, -1, 901, float("nan"), True, "5"):
            with pytest.raises(OptionError, match="is not a number of seconds above 0, at most 900"):
                app.invoke(add.s(1), timeout=seconds)  # type: ignore[arg-type]


def test_a_task_does_not_wait_for_a_direct_call() -> None:
    app = Sedano("shop")
    add = app.task(name="add")(lambda a: a)

    @app.task(name="outer", retry=False)
    def outer() -> int:
        value: int = app.invoke(add, 1)
        return value

    with testing.world(app), pytest.raises(RemoteError, match=WaitInsideTask.__name__):
        app.invoke(outer)


def test_a_worker_that_dies_leaves_its_caller_with_the_id_to_call_again() -> None:
    app, ran = Sedano("shop"), []

    @app.task(name="once")
    def once() -> str:
        ran.append(current().attempt)
        return "done"

    with testing.world(app) as world:
        direct: Any = world.ports.direct_calls
        answer, calls = direct.answer, []

        def dies(call: Any, seconds: float) -> Any:
            calls.append(call)
            if len(calls) == 1:
                answer(call, seconds)
                raise Unavailable("the worker ended without an answer")
            return answer(call, seconds)

        direct.answer = dies
        with pytest.raises(Unavailable, match="call again with task_id='t1', which has no second effect"):
            app.invoke(once.s().set(task_id="t1"))
        assert app.invoke(once.s().set(task_id="t1")) == "done"
    assert ran == [0]


class NoKeys(MemoryKeyStore):
    """Keys that cannot be read."""

    def read(self) -> str | None:
        """Refuse."""
        raise Unavailable("no keys")


def test_without_keys_nothing_is_called() -> None:
    app = Sedano("shop")
    add = app.task(name="add")(lambda a: a)
    with testing.world(app) as world:
        world.ports.seals.store = NoKeys()
        with pytest.raises(Unavailable, match="the keys of the stage could not be read"):
            app.invoke(add, 1)


def test_where_no_function_can_be_called_the_task_runs_through_its_queue() -> None:
    """As in `sedano dev` and with `sedano worker`: the same value, through the queue."""
    app = Sedano("shop")
    add = app.task(name="add")(lambda a: a + 1)
    with testing.world(app) as world:
        app.attach(replace(world.ports, direct_calls=absent("direct_calls")))
        assert app.invoke(add, 4) == 5
        assert world.sent("add") == [{"args": [4], "kwargs": {}}]


def test_an_id_that_another_task_has_used_is_refused(shop: Shop, processes: Processes) -> None:
    assert shop.app.invoke(shop.add.s(2, 3).set(task_id="one")) == 5
    with pytest.raises(MessageRefused) as refused:
        shop.app.invoke(shop.big.s("x").set(task_id="one"))
    assert refused.value.code == refusals.TAKEN


def test_a_refusal_of_a_call_with_a_key_is_about_its_own_reason(shop: Shop, processes: Processes) -> None:
    with pytest.raises(MessageRefused) as refused:
        shop.app.invoke(shop.app.signature("shop.nothing").set(dedup_key="k"))
    assert refused.value.code == refusals.UNKNOWN_TASK


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (ResultTimeout("no answer within 5 s"), ResultTimeout, "^task t1: no answer within 5 s; no queue keeps a direct call: call again"),
        (Unavailable("throttled"), Unavailable, "^task t1: throttled; no queue keeps a direct call: call again with task_id='t1'"),
        (b"<html>", Unavailable, r"^task t1: the worker's answer cannot be read \(malformed: answer: .*\); no queue keeps"),
    ],
)
def test_a_call_without_an_answer_names_the_id_to_call_again(answer: Any, kind: type[Exception], said: str) -> None:
    app = Sedano("shop")
    add = app.task(name="add")(lambda a: a)
    with testing.world(app) as world:

        def answers(request: str, seconds: float) -> bytes:
            assert seconds == 5.0
            if isinstance(answer, Exception):
                raise answer
            found: bytes = answer
            return found

        world.ports.direct_calls.call = answers  # type: ignore[method-assign]
        with pytest.raises(kind, match=said):
            app.invoke(add.s(1).set(task_id="t1"), timeout=5.0)


def test_the_answer_is_about_the_task_that_was_called(stage: Stage, shop: Shop, processes: Processes) -> None:
    draft, answer = call(shop.app.outlet, shop.add.s(2, 3).spec.set(task_id="one"), 5.0)
    assert answer.record is not None
    assert (draft.command.task_id, answer.record.task_id, answer.record.name) == ("one", "one", "add")
