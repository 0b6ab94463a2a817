"""What somebody does who knows Celery and has read nothing: each mistake is told at once, by its name, with what to write instead."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sedano
from sedano import DomainEvent, ResultSet, Retry, Sedano, chain, retry, testing
from sedano.errors import ArgumentError, CanvasError, NoResult, OptionError, RemoteError, ResultTimeout, UnknownOption, WorkflowInvalid
from sedano.ports import Ports
from sedano.workflow import Input, Step, Workflow

PATH = os.pathsep.join(filter(None, sys.path))
SHOP = """
from sedano import DomainEvent, Sedano

app = Sedano("shop")

@app.task
def price(item): ...

@app.event
class Ordered(DomainEvent):
    number: int

if __name__ == "__main__":
    print(price.name, Ordered.name)
"""


class Shop:
    """An app with a few tasks, in memory."""

    def __init__(self) -> None:
        """Declare them."""
        self.app = app = Sedano("shop")

        @app.task(name="shop.price", retry=Retry(interval_start=600, interval_max=600, jitter=False))
        def price(item: str, count: int = 1) -> int:
            return {"tea": 3}[item] * count

        @app.task(name="shop.total")
        def total(prices: list[int]) -> int:
            return sum(prices)

        self.price, self.total = price, total


@pytest.fixture
def shop() -> Iterator[Shop]:
    """The shop, open."""
    shop = Shop()
    with testing.world(shop.app):
        yield shop


def told(error: type[Exception], mistake: Callable[[], Any]) -> str:
    """What is said of a mistake."""
    with pytest.raises(error) as refused:
        mistake()
    return str(refused.value)


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (lambda s: s.price.delay(), "data: missing a required argument: 'item'; shop.price takes (item, count=1)"),
        (lambda s: s.price.delay("tea", 1, 2), "data: too many positional arguments; shop.price takes (item, count=1)"),
        (lambda s: s.price.delay(itm="tea"), "data: got an unexpected keyword argument 'itm'; shop.price takes (item, count=1)"),
        (lambda s: s.price.delay("tea", "two"), "data.args[1]: parameter count of shop.price: expected int, got str"),
        (lambda s: chain(s.price.s("tea"), s.total.s(1)).delay(), "data: too many positional arguments; shop.total takes (prices)"),
    ],
)
def test_wrong_arguments_are_told_with_the_task_and_what_it_takes(shop: Shop, mistake: Callable[[Shop], Any], words: str) -> None:
    assert told(ArgumentError, lambda: mistake(shop)) == words


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("routing_key", "routing_key: not an option; write queue=…"), ("exchange", "exchange: not an option; write queue=…"),
        ("contdown", "priority; did you mean countdown?"), ("serializer", "serializer: not an option; messages are always JSON"),
    ],
)  # fmt: skip
def test_an_option_of_celery_for_one_call_is_told_by_its_name_here(shop: Shop, option: str, words: str) -> None:
    for publish in (shop.price.apply_async, shop.price.s("tea").apply_async, shop.price.s("tea").set):
        given: Any = publish
        assert words in told(UnknownOption, lambda given=given: given(**{option: "x"}))


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("max_retries", "max_retries: not an option of a task; write retry=Retry(max_retries=…)"),
        ("autoretry_for", "retry=Retry(…) sets how often"), ("rate_limit", "rate_limit: not an option of a task; write rate=…"),
        ("acks_late", "after its outcome is recorded; remove this option"), ("ignore_results", "did you mean ignore_result?"),
    ],
)  # fmt: skip
def test_an_option_of_celery_for_a_task_is_told_by_its_name_here(shop: Shop, option: str, words: str) -> None:
    assert words in told(UnknownOption, lambda: shop.app.task(**{option: 3}))


def test_a_method_of_celery_is_told_by_its_name_here_and_is_not_there(shop: Shop) -> None:
    price, app = shop.price, shop.app
    assert "raise the error: retry=Retry(…) runs the task again" in told(AttributeError, lambda: price.retry)
    assert "'Sedano' object has no attribute 'conf'; write options in" in told(AttributeError, lambda: app.conf)
    assert told(AttributeError, lambda: price.colour) == "'Task' object has no attribute 'colour'"
    assert [hasattr(price, "retry"), getattr(app, "conf", None)] == [False, None]


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (lambda s: s.price.delay_on_commit, "'Task' object has no attribute 'delay_on_commit'; write sedano.django.delay_on_commit(task"),
        (lambda s: s.price.update_state, "write current().update_state(state, meta)"),
        (lambda s: s.price.rate_limit, "'Task' object has no attribute 'rate_limit'; write rate=…"),
        (lambda s: s.price.time_limit, "it is an option: @app.task(time_limit=…)"),
        (lambda s: s.app.tasks, "'Sedano' object has no attribute 'tasks'; write app.control.inspect().registered()"),
        (lambda s: s.app.result("x").date_done, "write app.control.explain(result.id), which says when the task ended"),
        (lambda s: s.app.control.inspect().ping, "'Inspect' object has no attribute 'ping'; inspect() reads the stores"),
        (lambda s: s.app.control.purge, "'Control' object has no attribute 'purge'; run `sedano purge QUEUE`"),
        (lambda s: s.price.s("tea").set_immutable, "'Sig' object has no attribute 'set_immutable'; write task.si(…)"),
    ],
)  # fmt: skip
def test_what_celery_has_and_sedano_has_not_is_told_where_it_is_asked_for(shop: Shop, mistake: Callable[[Shop], Any], words: str) -> None:
    assert words in told(AttributeError, lambda: mistake(shop))


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("broker", "broker: not an option of an app; an app finds its queues by the settings of its stage"),
        ("task_always_eager", "task_always_eager: not an option of an app; test the app in `with sedano.testing.world(app)`"),
        ("backend", "results are in the stage's table"),
        ("quues", "known are queues, retry, connect, call_timeout, worker, brokers, routes, backlog, raises; did you mean queues?"),
    ],
)  # fmt: skip
def test_an_option_of_celerys_app_is_told_by_its_name_here(option: str, words: str) -> None:
    assert words in told(UnknownOption, lambda: Sedano("shop", **{option: "sqs://"}))  # type: ignore[arg-type]


def test_a_name_that_celery_exports_is_told_by_its_name_here() -> None:
    wants = compile("from sedano import shared_task", "shop.py", "exec")
    words = told(ImportError, lambda: exec(wants, {}))  # noqa: S102 - an import in a function is refused in this tree
    assert words.startswith("cannot import name 'shared_task' from 'sedano'; write shared = sedano.SharedTasks(), then @shared.task")
    assert told(AttributeError, lambda: sedano.crontab) == (
        "module 'sedano' has no attribute 'crontab'; write `from sedano import cron`, then @app.periodic(cron('0 9 * * MON-FRI'))"
    )
    assert not hasattr(sedano, "colour")


def test_an_id_that_nobody_knows_is_told_so(shop: Shop) -> None:
    words = "task x is PENDING and did not end within 1 s: no worker has begun it, or nothing was published under this id; app.control."
    assert told(ResultTimeout, lambda: shop.app.result("x").get(timeout=1)).startswith(words)
    assert shop.app.control.explain("x").sentence == (
        "nothing here knows this id, and 0 wait in default: nothing was published under it in this stage, or its record has aged out "
        "(after 44 days), or its countdown of at most 15 minutes is not over"
    )


def test_a_misspelt_task_is_told_where_it_is_sent_and_where_it_waits(shop: Shop) -> None:
    with testing.world(shop.app) as world:
        sent, _ = (shop.app.send_task("shop.prise", ("tea",)) for _ in range(2))
        shop.app.send_task("bakery.sweep")
        telemetry: Any = shop.app.outlet.ports.telemetry
        (line,) = [line for line in telemetry.lines if line.message.startswith("send_task")]
        assert (line.level, line.fields) == ("warning", {"task": "shop.prise", "did_you_mean": "shop.price"})
        world.step()
        assert "no task 'shop.prise' in this deployment; did you mean 'shop.price'?" in shop.app.control.explain(sent.id).sentence


def connect() -> Ports:
    """Fail while the app connects."""
    raise AttributeError("module 'shelves' has no attribute 'open'")


def test_an_attribute_that_is_there_and_fails_tells_its_own_error() -> None:
    astray = Sedano("shop", connect=f"{__name__}:connect")
    assert told(AttributeError, lambda: astray.outlet) == "module 'shelves' has no attribute 'open'"


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (lambda s: Sedano("my shop"), "name: 'my shop' is not 1 to 128 visible ASCII characters without spaces, such as Sedano('shop')"),
        (lambda s: Sedano(""), "name: '' is not 1 to 128 visible"), (lambda s: Sedano("shop", queues=()), "queues: () has none; give"),
        (lambda s: Sedano("shop", queues=("a", "b", "a")), "queues: ('a', 'b', 'a') has one twice"),
        (lambda s: Sedano("shop", queues=("a", 1)), "queues: ('a', 1) has 1, which is not a valid name"),
        (lambda s: s.app.periodic(s.price), "periodic: the timetable is missing; write @app.periodic(every(60))"),
        (lambda s: s.app.periodic(60, args=("tea",))(s.price), "timetable: expected cron(…), every(…) or at(…), got int"),
        (lambda s: s.price.delay("tea").get(timeout="5"), "timeout: '5' is not a number of seconds; give a number, or None"),
        (lambda s: Retry(max_retries="3"), "max_retries: expected a whole number, got '3'"),
        (lambda s: Retry(max_retries=True), "max_retries: expected a whole number, got True"),
        (lambda s: retry(interval_start="1").__enter__(), "interval_start: expected a number, got '1'"),
        (lambda s: s.app.control.revoke(None), "task_id: None is not an id; give a task's (result.id), or several in a list"),
        (lambda s: s.app.control.revoke([""]), "task_id: [''] is not an id"),
        (lambda s: s.app.partitions("orders", "3"), "count: '3' is not a whole number from 1 to 1000"),
        (lambda s: s.app.control.pause(task="prise"), "task: 'prise' is not one of this app's tasks ('shop.price', 'shop.total')"),
        (lambda s: s.app.lock(5), "name: 5 is not a text of 1 to 500 characters"),
        (lambda s: s.app.result(None), "task_id: None is not an id; give one as text, such as result.id"),
        (lambda s: s.app.result(s.price.delay("tea")), "task_id: <AsyncResult "),
        (lambda s: s.app.control.explain(""), "task_id: '' is not an id"),
        (lambda s: s.app.group_result(None), "group_id: None is not an id"),
        (lambda s: ResultSet(["a"]), "results: 'a' is not a result; give the value of delay(), or app.result(id)"),
        (lambda s: ResultSet().add(s.price), "results: <sedano.task.Task object at "),
        (lambda s: ResultSet().update(["a"]), "results: 'a' is not a result"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_told_where_it_is_written(shop: Shop, mistake: Callable[[Shop], Any], words: str) -> None:
    assert told(OptionError, lambda: mistake(shop)).startswith(words)


def test_arguments_by_name_alone_are_a_list_and_a_mapping_also_for_a_task_that_is_not_known_here(shop: Shop) -> None:
    assert told(ArgumentError, lambda: shop.app.send_task("elsewhere", "tea")) == "args: expected a list or a tuple of arguments, got str"
    assert told(ArgumentError, lambda: shop.app.send_task("elsewhere", kwargs=["tea"])).startswith("kwargs: expected a mapping")


def test_who_waits_for_a_call_that_runs_with_others_is_told_whom_to_ask(shop: Shop) -> None:
    @shop.app.task(batch=(10, "5s"))
    def store(calls: list[Any]) -> None: ...

    sent = store.delay(1)
    assert told(NoResult, sent.get).endswith(
        f"(ignore_result, or batch): there is nothing to wait for; app.control.explain('{sent.id}') shows how it ended"
    )


@pytest.mark.parametrize("other", [lambda s: s.total, lambda s: 5, lambda s: s.total([1])])
def test_what_is_no_signature_makes_no_chain(shop: Shop, other: Callable[[Shop], Any]) -> None:
    words = f"a canvas consists of signatures (task.s(…)) and forms of them, not {type(other(shop)).__name__}"
    assert told(CanvasError, lambda: shop.price.s("tea") | other(shop)) == words


def test_a_value_of_an_event_is_not_what_is_published(shop: Shop) -> None:
    @shop.app.event
    class Ordered(DomainEvent):
        number: int

    assert told(OptionError, lambda: Ordered(number=7).delay()).endswith("Ordered.delay(number=…)")
    assert Ordered.delay(number=7)


def test_an_input_called_as_what_a_map_hands_out_is_told_so(shop: Shop) -> None:
    def declare() -> None:
        class Priced(Workflow, app=shop.app):
            item = Input(str)
            priced = Step(shop.price.s(item))

    assert "input 'item' is not a name for an input; give letters, digits and underscores; 'item' is" in told(WorkflowInvalid, declare)


def test_a_signature_in_the_body_of_a_workflow_is_no_step_unless_a_step_takes_it(shop: Shop) -> None:
    class Priced(Workflow, app=shop.app):
        call = shop.price.s("tea", 1)
        priced = Step(call)

    def declare() -> None:
        class Forgotten(Workflow, app=shop.app):
            priced = Step(shop.price.s("tea", 1))
            again = shop.price.s("tea", 2)

    assert Priced.delay().get() == {"priced": 3}
    assert "step 'again': a signature is not a step; write again = Step(task.s(…))" in told(WorkflowInvalid, declare)


def test_whoever_waits_too_short_is_told_what_happened_so_far_and_whom_to_ask(shop: Shop) -> None:
    result = shop.price.delay("coffee")
    words = f"task {result.id} is RETRY after KeyError: 'coffee' and did not end within 5 s; app.control.explain('{result.id}') shows why"
    assert told(ResultTimeout, lambda: result.get(timeout=5)) == words
    assert told(RemoteError, lambda: result.get(timeout=3_600)) == "KeyError: 'coffee'"


@pytest.mark.parametrize(("command", "module"), [(["shop.py"], "shop"), (["-m", "shop"], "shop"), (["-m", "stores.shop"], "stores.shop")])
def test_a_program_publishes_its_own_tasks_and_events_by_the_names_that_workers_know(
    tmp_path: Path, command: list[str], module: str
) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "stores").mkdir()
    (tmp_path / "stores" / "shop.py").write_text(SHOP)
    ran = subprocess.run([sys.executable, *command], env={"PYTHONPATH": PATH}, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == (f"{module}.price {module}.Ordered\n", "")


def test_why_a_misspelt_task_has_not_run_is_told_while_a_worker_that_knows_it_may_still_come() -> None:
    app = Sedano("shop")
    with testing.world(app) as world:
        sent = app.send_task("shop.prise", ("tea",))
        for moment in ("00:00:30Z", "00:01:00Z", "00:01:30Z"):
            world.step()
            told = f"no task 'shop.prise' in this deployment; its message is delivered again at 2026-01-01 {moment}"
            assert app.control.explain(sent.id).sentence == told
            world.elapse(30)
        assert app.control.explain(sent.id).sentence.startswith("parked: unknown-task")


@pytest.mark.parametrize(
    ("sent", "known"),
    [
        ("tasks.price", "'shop.tasks.price' is known: start the program with `python -m shop.tasks` to publish by that name"),
        ("tasks.Till.sum", "'shop.tasks.Till.sum' is known: start the program with `python -m shop.tasks` to publish by that name"),
        ("stall.price", "known names with the same last part: 'market.price', 'shop.tasks.price'"),
    ],
)
def test_a_task_published_under_the_name_of_another_module_is_told_what_workers_call_it(sent: str, known: str) -> None:
    app = Sedano("shop")
    for name in ("shop.tasks.price", "shop.tasks.Till.sum", "market.price", "shop.tasks.unlike_price"):
        app.task(name=name)(lambda item: item)
    with testing.world(app) as world:
        result = app.send_task(sent, ("tea",))
        world.step()
        assert f"no task {sent!r} in this deployment; {known}; its message is delivered again" in app.control.explain(result.id).sentence
        world.drain()
        (message,) = world.parked()
        assert message.attributes["detail"] == f"no task {sent!r} in this deployment; {known}"


def test_an_event_published_under_the_name_of_another_module_is_told_what_the_router_calls_it() -> None:
    app = Sedano("shop")
    app.registry.subscriptions["shop.events.Ordered"] = []
    with testing.world(app) as world:
        app.outlet.announce("events.Ordered", {"number": 1})
        world.drain()
        (message,) = world.parked()
        assert "no event 'events.Ordered' in this deployment; 'shop.events.Ordered' is known" in message.attributes["detail"]


def test_a_task_typed_at_a_console_is_set_aside_with_what_to_do() -> None:
    app = Sedano("shop")
    with testing.world(app) as world:
        app.send_task("__main__.price", ("tea",))
        world.drain()
        (message,) = world.parked()
        assert "no task '__main__.price' in this deployment; declare tasks in a module, not in a console" in str(message)
