"""The declaration of a poll: what cannot be honoured is refused where it is written, with what to write instead."""

from collections.abc import Mapping
from typing import Any

import pytest

from sedano import Retry, Sedano, every, testing
from sedano.errors import OptionError, PortMissing
from sedano.polls import Polled
from sedano.testing import World
from tests.stories.test_polls import Shop


def source(cursor: Any) -> Polled | None:
    """Return nothing."""
    return None


async def coroutine(cursor: Any) -> Polled | None:
    """Return nothing."""
    return None


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (("Orders", every(60), source), {}, "'Orders' is not a valid name"),
        (("orders", every(60), "https://api.example.com/"), {}, r"as http\('https://api.example.com/'"),
        (("orders", every(60), 5), {}, "give a plain function of the cursor"),
        (("orders", every(60), coroutine), {}, "give a plain function of the cursor"),
        (("orders", every(60), source), {"identity": ""}, "give the field that identifies an item"),
        (("orders", every(60), source), {"identity": coroutine}, "give the field that identifies an item"),
        (("orders", every(60), source), {"serial_key": "{x}"}, "serial_key: the task of a poll has no such option"),
        (("orders", every(60), source), {"retries": 3}, "retries"),
        (("orders", every(60), source), {"time_limit": 19}, "time_limit: 19 s is too short .* write time_limit=20 or more"),
        (("orders", every(60), source), {"soft_time_limit": 5.5, "time_limit": 60}, "soft_time_limit: 5.5 s is too short"),
        (("orders", 60, source), {}, r"expected cron\(…\), every\(…\) or at\(…\)"),
        (("orders", every(60), source), {"queue": "orders.fifo"}, "orders.fifo"),
    ],
)
def test_a_poll_that_cannot_be_honoured_is_refused_where_it_is_declared(arguments: Any, options: Mapping[str, Any], words: str) -> None:
    app = Sedano("shop", queues=("default", "orders.fifo"))
    with pytest.raises(OptionError, match=words):
        app.poll(*arguments, **options)(app.task(name="ordered")(lambda order: None))


def test_a_task_that_takes_no_item_or_is_not_a_task_and_a_second_poll_of_the_name_are_refused() -> None:
    app = Sedano("shop")
    poll = app.poll("orders", every(60), source)
    with pytest.raises(OptionError, match=r"is not a task of this app; write @app\.poll"):
        poll(lambda order: None)  # type: ignore[type-var]
    with pytest.raises(OptionError, match="nothing is called with one argument, an item"):
        poll(app.task(name="nothing")(lambda: None))
    poll(app.task(name="one")(lambda order: None))
    with pytest.raises(OptionError, match="poll orders: declared twice"):
        poll(app.task(name="two")(lambda order: None))


def test_a_deployment_without_memos_refuses_the_poll() -> None:
    shop = Shop()
    with testing.world(Sedano("other")) as world, pytest.raises(PortMissing, match="the poll orders"):
        shop.app.attach(_without_memos(world))


def _without_memos(world: World) -> Any:
    bare = world.ports
    return type(bare)(**{name: getattr(bare, name) for name in ("ledger", "queues", "blobs", "clock", "entropy", "telemetry", "schedules")})


def test_the_task_of_a_poll_has_options_of_its_own() -> None:
    app = Sedano("shop", queues=("default", "polls"))
    poll = app.poll("orders", every(60), source, queue="polls", retry=Retry(max_retries=1), time_limit=30)
    poll(app.task(name="ordered")(lambda order: None))
    spec = app.registry.tasks["poll.orders"]
    assert (spec.queue, spec.retry.max_retries) == ("polls", 1)
    assert app.periodics["poll.orders"].call.queue == "polls"
