"""A Flask program publishes from its views, and its tasks run in the context of the application."""

from typing import Any

import pytest
from flask import Flask, current_app, g, has_app_context

from sedano import Sedano, testing
from sedano.errors import ArgumentError, RemoteError
from sedano.flask import in_context
from sedano.task import Task


def made() -> Flask:
    """Make an application, as a factory does."""
    web = Flask("shop")
    web.config["SENDER"] = "shop@example.org"
    return web


def test_a_view_publishes_and_the_body_runs_in_the_context_of_the_application() -> None:
    app, web = Sedano("shop"), made()
    ended: list[str] = []

    @app.task(name="shop.mail")
    @in_context(web)
    def mail(to: str) -> str:
        g.to = to
        return f"{current_app.config['SENDER']} to {g.to}"

    @web.teardown_appcontext
    def teardown(error: BaseException | None) -> None:
        ended.append("context")

    @web.post("/mail/<to>")
    def mailed(to: str) -> str:
        return mail.delay(to).id

    with testing.world(app) as world:
        task_id = web.test_client().post("/mail/anna").text
        assert ended == ["context"]
        world.drain()
        assert app.result(task_id).get() == "shop@example.org to anna"
        assert ended == ["context", "context"]


def test_an_async_body_and_a_bound_one_run_in_it_too() -> None:
    app, web = Sedano("shop"), made()

    @app.task(name="shop.fetch")
    @in_context(web)
    async def fetch(url: str) -> str:
        return f"{current_app.name} {url}"

    @app.task(name="shop.bound", bind=True)
    @in_context(web)
    def bound(self: Task[[], str]) -> str:
        return f"{current_app.name} {self.name}"

    with testing.world(app):
        assert fetch.delay("x").get() == "shop x"
        assert bound.delay().get() == "shop shop.bound"


def test_without_it_a_body_has_no_application() -> None:
    app = Sedano("shop")

    @app.task(name="shop.outside", retry=False)
    def outside() -> str:
        return str(current_app.name)

    with testing.world(app), pytest.raises(RemoteError, match="Working outside of application context"):
        outside.delay().get()


def test_each_run_has_a_context_of_its_own_and_a_failed_one_leaves_none() -> None:
    app, web = Sedano("shop"), made()
    left: list[bool] = []

    @app.task(name="shop.fails", retry=False)
    @in_context(web)
    def fails() -> None:
        left.append(hasattr(g, "mark"))
        g.mark = True
        raise ValueError("no")

    with testing.world(app) as world:
        fails.delay()
        fails.delay()
        world.drain()
    assert left == [False, False]
    assert not has_app_context()


def test_a_factory_is_called_once_and_not_by_a_program_that_only_publishes() -> None:
    app = Sedano("shop")
    calls: list[Flask] = []

    def factory() -> Flask:
        calls.append(made())
        return calls[-1]

    @app.task(name="shop.named")
    @in_context(factory)
    def named() -> str:
        return str(current_app.name)

    with testing.world(app) as world:
        results = [named.delay(), named.delay()]
        assert calls == []
        world.drain()
        assert [one.get() for one in results] == ["shop", "shop"]
    assert len(calls) == 1


def test_the_parameters_of_the_body_are_checked_and_its_result_is_restored() -> None:
    app, web = Sedano("shop"), made()

    @app.task(name="shop.pair")
    @in_context(web)
    def pair(number: int) -> tuple[int, str]:
        return number, str(current_app.name)

    wrong: Any = "one"
    with testing.world(app):
        assert pair.delay(1).get() == (1, "shop")
        with pytest.raises(ArgumentError, match="expected int, got str"):
            pair.delay(wrong)
