"""Routes: the first pattern that matches the whole name decides, and only where nothing else names a queue."""

from typing import Any

import pytest

from sedano import Sedano, SharedTasks, testing
from sedano.errors import OptionError
from sedano.model.routes import checked, queue_for

QUEUES = ("default", "mail", "mail-high", "slow", "orders.fifo")
ROUTES = {"mail.urgent": "default", "mail.*": "mail", "*.report": "slow", "x?.[ab]": "slow"}


@pytest.mark.parametrize(
    ("name", "queue"),
    [
        ("mail.urgent", "default"), ("mail.report", "mail"), ("shop.report", "slow"), ("a.b.report", "slow"), ("mail", None),
        ("mail.", "mail"), ("Mail.x", None), ("mailx", None), ("shop.reports", None), ("xy.[ab]", "slow"), ("xy.a", None), ("x.[ab]", None),
    ],
)  # fmt: skip
def test_the_first_pattern_that_matches_the_whole_name_decides(name: str, queue: str | None) -> None:
    assert queue_for(ROUTES, name) == queue


@pytest.mark.parametrize(
    ("routes", "words"),
    [
        ("mail", r"routes: 'mail' does not map patterns to queues; write routes={'mail.\*': 'mail'}"),
        ({"": "mail"}, r"routes: '' is not a pattern of task names, such as 'mail.\*'"),
        ({7: "mail"}, "routes: 7 is not a pattern of task names"),
        ({"mail.*": "post"}, r"routes: 'mail.\*': 'post' is not one of this app's queues \('default', .*\); add it to Sedano\(queues=…\)"),
        ({"mail.*": None}, r"routes: 'mail.\*': None is not one of this app's queues"),
    ],
)  # fmt: skip
def test_routes_that_cannot_hold_are_refused_with_what_to_write(routes: Any, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        Sedano("shop", queues=QUEUES, routes=routes)


def test_routes_are_kept_in_their_order() -> None:
    assert [*checked(ROUTES, QUEUES).items()] == [*ROUTES.items()]
    assert checked({}, QUEUES) == {}


def queue_of(app: Sedano, name: str) -> str:
    """Return the queue to which *app* sends a call of the task *name*."""
    return app.registry.tasks[name].queue


def test_a_queue_at_the_task_or_at_the_call_overrides_the_routes() -> None:
    app = Sedano("shop", queues=QUEUES, routes=ROUTES)
    routed = app.task(name="mail.one")(lambda: None)
    app.task(name="mail.two", queue="slow")(lambda: None)
    app.task(name="mail.three", queue="default")(lambda: None)
    app.task(name="mail.four", priority="high")(lambda: None)
    app.task(name="shop.five")(lambda: None)
    names = ("mail.one", "mail.two", "mail.three", "mail.four", "shop.five")
    assert [queue_of(app, name) for name in names] == ["mail", "slow", "default", "mail-high", "default"]
    with testing.world(app) as world:
        routed.delay()
        routed.apply_async(queue="slow")
        app.send_task("mail.unknown")
        app.send_task("other.unknown")
        app.send_task("mail.unknown", queue="default")
        queues: Any = world.ports.queues
        assert {queue: queues.depth(f"commands:{queue}") for queue in QUEUES} == {
            "default": 2, "mail": 2, "mail-high": 0, "slow": 1, "orders.fifo": 0,
        }  # fmt: skip


def test_the_tasks_of_a_package_are_routed_by_the_app_that_includes_them() -> None:
    shared = SharedTasks()
    shared.task(name="mail.shared")(lambda: None)
    app = Sedano("shop", queues=QUEUES, routes=ROUTES)
    app.include(shared)
    shared.task(name="shop.report")(lambda: None)
    assert [queue_of(app, name) for name in ("mail.shared", "shop.report")] == ["mail", "slow"]


def test_a_route_to_a_queue_that_keeps_order_requires_its_key() -> None:
    app = Sedano("shop", queues=QUEUES, routes={"orders.*": "orders.fifo"})
    with pytest.raises(OptionError, match="serial_key"):
        app.task(name="orders.pay")(lambda number: None)
    app.task(name="orders.ship", serial_key="{number}")(lambda number: None)
    assert queue_of(app, "orders.ship") == "orders.fifo"


def test_without_a_default_queue_each_task_needs_a_route_or_a_queue() -> None:
    app = Sedano("shop", queues=("mail",), routes={"mail.*": "mail"})
    app.task(name="mail.one")(lambda: None)
    with pytest.raises(OptionError, match=r"queue: 'default' is not one of this app's queues \('mail',\); add it"):
        app.task(name="shop.two")(lambda: None)
    shared = SharedTasks()
    shared.task(name="shop.three")(lambda: None)
    with pytest.raises(OptionError, match="queue: 'default' is not one of this app's queues"):
        app.include(shared)
    assert "shop.three" not in app.registry.tasks
