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

Publishing needs nothing: a view calls `mail.delay(…)`, and what an app keeps back is sent when the process ends. Needs the package flask.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from flask import Flask

F = TypeVar("F", bound=Callable[..., Any])
Factory = Callable[[], Flask]
"""Makes the application, as programs with an application factory do."""


def in_context(web: Flask | Factory) -> Callable[[F], F]:
    """Return a decorator for the function of a task: each run has an application context of *web* of its own.

    Args:
        web: the application, or a factory, which is called once, at the first run: a program that only publishes does not call it.
    """
    made = _made(web)

    def decorate(function: F) -> F:
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def run_async(*args: Any, **kwargs: Any) -> Any:
                with made().app_context():
                    return await function(*args, **kwargs)

            return run_async  # type: ignore[return-value] # it has the signature of what it wraps

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with made().app_context():
                return function(*args, **kwargs)

        return run  # type: ignore[return-value] # it has the signature of what it wraps

    return decorate


def _made(web: Flask | Factory) -> Factory:
    if isinstance(web, Flask):
        return lambda: web
    return functools.cache(web)
