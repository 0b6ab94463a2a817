"""Flask: tasks whose bodies run in the context of the application, so that they use its configuration and extensions.

    from flask import Flask, current_app
    from sedano.flask import in_context

    web = Flask(__name__)

    @app.task
    @in_context(web)
    def mail(to: str) -> str:
        return f"{current_app.config['SENDER']} to {to}"

    @web.post("/mail/<to>")
    def mailed(to: str) -> str:
        return mail.delay(to).id

A program with an application factory uses `FlaskTasks`, whose `init_app` the factory calls.

Publishing needs no setup: a view calls `mail.delay(…)`, and pending messages are sent when the process ends. Needs the package flask.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
from collections.abc import Callable, MutableMapping
from typing import Any, TypeVar

from flask import Flask

from sedano.api.connector import DEPLOYMENT
from sedano.app import Sedano
from sedano.errors import ConfigurationError

F = TypeVar("F", bound=Callable[..., Any])
PREFIX = "SEDANO_"
"""The prefix of the variables that name a stage."""
Factory = Callable[[], Flask]
"""An application factory."""


def in_context(web: Flask | Factory) -> Callable[[F], F]:
    """Return a decorator for task functions: each run has its own application context of *web*.

    Args:
        web: the application, or a factory, which is called once, at the first run; a program that only publishes does not call it.
    """
    return _decorator(_made(web))


class FlaskTasks:
    """The tasks of an app in a program whose application is made by a factory.

        # extensions.py
        app = Sedano("shop")
        tasks = FlaskTasks(app)

        # factory.py
        def create_app() -> Flask:
            web = Flask("shop")
            tasks.init_app(web)
            return web

        # tasks.py
        @app.task
        @tasks.in_context
        def mail(to: str) -> str: ...

    Workers import a module that calls the factory and contains the app.
    """

    def __init__(self, app: Sedano, web: Flask | None = None) -> None:
        """Take the app and, if it exists already, the application.

        Args:
            app: the app whose tasks the program publishes.
            web: as for `init_app`.
        """
        self.app = app
        self._web: Flask | None = None
        if web is not None:
            self.init_app(web)

    def init_app(self, web: Flask, environment: MutableMapping[str, str] = os.environ) -> None:
        """Run task bodies in the context of *web*, and store the app in `web.extensions["sedano"]`.

        The environment names the stage. If it names none, the values in the configuration of *web* whose names begin with `SEDANO_`, such
        as those that `sedano outputs --json` prints, are copied to the environment; a value that is not a string is copied as JSON.

        Args:
            web: the application; a later call replaces it.
            environment: where the app looks for its stage.
        """
        if not any(environment.get(name) for name in DEPLOYMENT):
            given = {name: value for name, value in web.config.items() if name.startswith(PREFIX) and value is not None}
            environment.update({name: value if isinstance(value, str) else json.dumps(value) for name, value in given.items()})
        web.extensions["sedano"] = self.app
        self._web = web

    def in_context(self, function: F) -> F:
        """Run the body of a task in a context of the application; each run has its own.

        A run raises `ConfigurationError` if `init_app` was not called.
        """
        return _decorator(self._application)(function)

    def _application(self) -> Flask:
        if self._web is None:
            raise ConfigurationError(
                "no Flask application: call init_app(web), or your application factory, in the module that workers import"
            )
        return self._web


def _decorator(made: Factory) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def run_async(*args: Any, **kwargs: Any) -> Any:
                with made().app_context():
                    return await function(*args, **kwargs)

            return run_async  # type: ignore[return-value] # it has the signature of the wrapped function

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with made().app_context():
                return function(*args, **kwargs)

        return run  # type: ignore[return-value] # it has the signature of the wrapped function

    return decorate


def _made(web: Flask | Factory) -> Factory:
    if isinstance(web, Flask):
        return lambda: web
    return functools.cache(web)
