"""What an app registers: where a name was declared, what declarations need, what a task demands of a message; and the notes of a batch."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.batch import Deferral, Parking
from sedano.engine.built_in_tasks import BUILT_IN_TASKS
from sedano.engine.declaration_origins import Origin, may_declare, module_of
from sedano.engine.registry import DELAY, ORDER, Registry, require_of
from sedano.engine.task_context import CURRENT, TaskContext
from sedano.errors import ArgumentError, PortMissing, QueueUnfit
from sedano.model.budgets import Budget
from sedano.model.limits.task_limits import TaskLimits
from sedano.model.messages.message import COLLECT, ELECT, LAUNCH, Command, JoinMember
from sedano.model.queues import QueueBounds
from sedano.model.retry import Retry
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.task_spec import TaskSpec, apart, hindrance
from sedano.ports import Ports
from sedano.ports.absent import absent
from tests.unit.engine.gated import batch, job

COMMAND = Command("m", "t", "send")
MEMBER = JoinMember("j", 0, 1)
CELL, AGAIN = (compile("pass", "a.py", "exec") for _ in range(2))
ELSEWHERE = compile("pass", "b.py", "exec")


def spec(name: str = "send", **options: Any) -> TaskSpec:
    """A declared task."""
    return TaskSpec(name, print, Parameters(lambda *_: None), **options)


def over(*, bounds: QueueBounds | None = None, **ports: Any) -> Ports:
    """Ports in memory, but for these; *bounds*: those of the queues."""
    base = memory.ports()
    queues = memory.MemoryQueues(base.clock, ("default",), bounds=bounds or QueueBounds())
    return replace(base, queues=queues, **ports)


UNORDERED, AT_ONCE = over(bounds=QueueBounds(ordered=False)), over(bounds=QueueBounds(max_delay=0))
WITHOUT = over(consumers=absent("consumers"))
LACKS: list[tuple[str, Ports, type[Exception], str]] = [
    (ORDER, UNORDERED, QueueUnfit, "queues of this deployment keep no order: required by me; .*Queues port has bounds.ordered, as"),
    (DELAY, AT_ONCE, QueueUnfit, "deployment cannot delay a message: required by me; .*port has a bounds.max_delay above 0, as"),
    ("consumers", WITHOUT, PortMissing, "this deployment has no consumers: required by me;"),
]


@pytest.mark.parametrize(("need", "lacking", "error", "words"), LACKS)
def test_what_a_deployment_lacks_is_refused_when_it_is_connected_to_and_when_it_is_needed_later(
    need: str, lacking: Ports, error: type[Exception], words: str
) -> None:
    registry = Registry()
    registry.need(need, "me")
    registry.need(need, "another")
    assert registry.needs == {need: "me"}
    refusing: list[Callable[[Ports], None]] = [registry.check, registry.begin, registry.bind, lambda ports: require_of(ports, need, "me")]
    for step in refusing:
        with pytest.raises(error, match=words):
            step(lacking)
        for other in (UNORDERED, AT_ONCE, WITHOUT):
            if other is not lacking:
                step(other)
    later = Registry()
    later.bind(lacking)
    with pytest.raises(error, match=words):
        later.need(need, "me")
    assert (later.bound, later.needs) == (lacking, {})


def test_an_app_that_is_unbound_ends_its_boxes_and_forgets_its_configuration() -> None:
    told: list[Any] = []
    registry, ports = Registry(), memory.ports()
    registry.bind(None)
    registry.begin(ports)
    configuration: Any = SimpleNamespace(begin=told.append, forget=lambda: told.append("forget"))
    registry.configuration = configuration
    registry.boxes |= {"a": lambda: told.append("a"), "b": lambda: told.append("b")}
    registry.begin(ports)
    registry.bind(ports)
    assert (told, registry.bound) == ([ports], ports)
    registry.bind(None)
    assert (told, registry.bound) == ([ports, "a", "b", "forget"], None)


def test_the_declarations_about_many_messages_at_once_are_named_as_in_code() -> None:
    registry = Registry()
    assert (registry.of_batches(0), registry.of_batches(1)) == ((), ())
    assert registry.of_batches(2) == ("WorkerSettings(concurrency=…)",)
    strategy: Any = min
    registry.threads = registry.coroutines = (Budget(1, 2), strategy)
    registry.prefer = strategy
    assert registry.of_batches(1) == ("app.threads(…)", "app.coroutines(…)", "app.prefer(…)")


@pytest.mark.parametrize(
    ("before", "later", "is_replaced"),
    [
        (Origin("shop", CELL, "f"), Origin("shop", AGAIN, "f"), True),
        (Origin("shop", CELL, "f"), Origin("shop", CELL, "f"), False),
        (Origin("shop", CELL, "f"), Origin("shop", ELSEWHERE, "f"), False),
        (Origin("shop", CELL, "f"), Origin("shop", AGAIN, "g"), False),
        (Origin("shop", CELL, "f"), Origin("mall", AGAIN, "f"), False),
        (Origin("__main__", CELL, "f"), Origin("__main__", ELSEWHERE, "f"), True),
        (Origin("__main__", CELL, "f"), Origin("__main__", CELL, "f"), False),
    ],
)
def test_the_same_declaration_in_a_later_run_of_its_module_replaces_it(before: Origin, later: Origin, is_replaced: bool) -> None:
    assert before.is_replaced_by(later) is is_replaced


def run(text: str, module: str, **names: Any) -> None:
    """Run a module of this name."""
    exec(compile(text, f"{module}.py", "exec"), {"__name__": module, "run": run, "may_declare": may_declare, **names})  # noqa: S102


def test_a_name_is_declared_by_the_nearest_module_outside_the_library_that_runs() -> None:
    registry = Registry()
    inner = "assert may_declare(registry, 'task a', 'text', False)\nassert may_declare(registry, 'task b', print, False)"
    for ours in ("sedano", "sedano.tools"):
        run(f"run({inner!r}, {ours!r}, registry=registry)", "shop", registry=registry)
        assert {name: (one.module, one.what) for name, one in registry.origins.items()} == {
            "task a": ("shop", "text"), "task b": ("shop", "builtins.print"),
        }  # fmt: skip
    run(inner, "sedanoist", registry=registry)
    assert registry.origins["task a"].module == "sedanoist"
    assert registry.origins["task a"].code.co_filename == "sedanoist.py"


@pytest.mark.parametrize("block", ["class {0}:\n    {1}", "def {0}():\n    {1}\n{0}()"])
def test_two_declarations_of_one_name_within_one_run_clash_wherever_they_stand_in_the_module(block: str) -> None:
    found: list[bool] = []
    text = "\n".join(block.format(name, f"found.append(may_declare(registry, 'task a', 'f', {name == 'Two'}))") for name in ("One", "Two"))
    registry = Registry()
    run(text, "shop", registry=registry, found=found)
    assert (found, registry.origins["task a"].code.co_name) == ([True, False], "<module>")


def test_a_name_that_is_declared_where_no_module_runs_is_declared_once() -> None:
    registry = Registry()

    def declared(taken: bool) -> bool:
        with ThreadPoolExecutor(1) as threads:
            return threads.submit(may_declare, registry, "task a", "f", taken).result()

    assert (declared(False), registry.origins) == (True, {})
    assert declared(True) is False
    assert may_declare(registry, "task a", "f", True) is False, "the other place is not known"
    registry.origins["task a"] = Origin("shop", CELL, "f")
    assert (declared(True), registry.origins) == (False, {"task a": Origin("shop", CELL, "f")})


@pytest.mark.parametrize(
    ("module", "loaded", "name"),
    [
        ("shop", {"__spec__": SimpleNamespace(name="mall"), "__file__": "/srv/mall.py"}, "shop"),
        ("__main__", {"__spec__": SimpleNamespace(name="shop.tasks"), "__file__": "/srv/tasks.py"}, "shop.tasks"),
        ("__main__", {"__spec__": None, "__file__": "/srv/tasks.py"}, "tasks"),
        ("__main__", {"__spec__": None, "__file__": "/srv/tasks"}, "__main__"),
        ("__main__", {"__spec__": None}, "__main__"),
        ("__main__", {}, "__main__"),
    ],
)
def test_a_programs_own_module_is_named_as_workers_import_it(module: str, loaded: dict[str, Any], name: str) -> None:
    assert module_of(SimpleNamespace(__module__=module), {module: SimpleNamespace(**loaded)}) == name


@pytest.mark.parametrize(
    ("options", "command", "mode"),
    [
        ({}, COMMAND, "claimed"),
        ({"ignore_result": True}, COMMAND._replace(member=MEMBER), "claimed"),
        ({"delivery": "record_once", "ignore_result": True}, COMMAND, "record_once"),
        ({"delivery": "at_least_once", "ignore_result": True}, COMMAND, "at_least_once"),
        ({"delivery": "at_least_once", "ignore_result": True}, COMMAND._replace(member=MEMBER), "record_once"),
        ({"delivery": "at_least_once", "ignore_result": True}, COMMAND._replace(ignore_result=False), "record_once"),
        ({"delivery": "at_least_once"}, COMMAND, "record_once"),
        ({"delivery": "at_least_once"}, COMMAND._replace(ignore_result=True), "at_least_once"),
    ],
)
def test_a_call_whose_result_is_read_leaves_a_record(options: dict[str, Any], command: Command, mode: str) -> None:
    assert spec(**options).mode(command) == mode


def test_a_tenant_that_cannot_be_read_from_the_arguments_is_the_callers_mistake() -> None:
    named = spec(tenant=lambda args, _: args[0])
    assert (named.tenant_of(("a",), {}), spec().tenant_of((), {})) == ("a", None)
    with pytest.raises(ArgumentError, match=r"^tenant: IndexError: tuple index out of range$"):
        named.tenant_of((), {})


def test_neither_batches_nor_tasks_of_the_library_keep_order() -> None:
    assert hindrance(spec(limits=TaskLimits())) == ""
    assert hindrance(spec(retry=Retry(max_retries=19))) == ""
    assert hindrance(spec(retry=Retry(max_retries=20))).startswith("send is retried more than 19 times, and a queue that keeps order")
    assert hindrance(spec(limits=TaskLimits(runs=True))).startswith("send has a rate, a debounce or a batch")
    for name in (LAUNCH, COLLECT, ELECT):
        assert hindrance(BUILT_IN_TASKS[name]) == f"{name} is a task of the library, which does not keep order"


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({}, ""),
        ({"serial_key": str, "limits": TaskLimits()}, "serial_key"),
        ({"singleton": str}, "singleton"),
        ({"limits": TaskLimits()}, "a limit (rate, concurrency, debounce, batch)"),
        ({"is_document": True}, "sinks or subscribers of its documents"),
    ],
)
def test_a_task_whose_calls_need_a_message_each_is_no_task_of_a_map(options: dict[str, Any], found: str) -> None:
    words = f"send is declared with {found}, which applies to each message, and a map's calls share one"
    assert apart(spec(**options)) == (words if found else "")


def test_the_librarys_own_tasks_return_what_they_collect_and_vote_where_a_worker_lets_them() -> None:
    assert BUILT_IN_TASKS[COLLECT].function([1, 2]) == [1, 2]
    elect, votes = BUILT_IN_TASKS[ELECT].function, list[Any]()
    elect("e", True, "about")
    for vote in (None, lambda *given: votes.append(given)):
        context = TaskContext(COMMAND, 1, 10.0, 5, vote=vote)
        token = CURRENT.set(context)
        try:
            elect("e", True, "about", "more")
        finally:
            CURRENT.reset(token)
    assert votes == [(context, "e", True, ("about", "more"))]


def test_a_batch_notes_each_message_that_was_given_back_parked_or_moved_as_decided() -> None:
    found, (back, later, parked, moved, left) = batch(memory.ports()), (job(name).delivery for name in "abcde")
    found.give_back(back)
    found.defer(later, "busy", COMMAND, 5.0, ran=True)
    found.park(parked, "schema", "data", "is not an object")
    found.move(moved)
    assert found.given_back == [back, later]
    assert found.deferred == {"b": Deferral(later, "busy", COMMAND, 5.0, ran=True)}
    assert found.parkings == [Parking(parked, "schema", "data", "is not an object")]
    assert [found.is_decided(one) for one in (back, later, parked, moved, left)] == [True, True, True, True, False]


@pytest.mark.parametrize(
    ("delivery", "ran", "counts"),
    [("claimed", True, False), ("claimed", False, False), ("record_once", True, True), ("record_once", False, False)],
)
def test_a_deferred_message_counts_as_an_execution_if_its_body_ran_without_a_claim(delivery: str, ran: bool, counts: bool) -> None:
    found, one = batch(memory.ports()), job("a", delivery=delivery)
    found.defer_job(one, "away", ran=ran)
    assert found.deferred == {"a": Deferral(one.delivery, "not answered: away", one.command, None, counts)}
