"""The app of a Django project as workers import it: `sedano.django.worker:app`. Deploy this app.

Importing it sets Django up, by the settings that DJANGO_SETTINGS_MODULE names. Each body then begins and ends as a request does: old or
broken database connections are closed.
"""

from __future__ import annotations

import functools
from typing import Any

import django
from asgiref.sync import sync_to_async
from django.db import close_old_connections

from sedano.app import Sedano
from sedano.django import configured_app
from sedano.model.tasks.task_spec import BUILT_IN, TaskSpec


def with_fresh_connections(spec: TaskSpec) -> TaskSpec:
    """Return *spec* with a function that closes old connections before and after each run."""
    function = spec.function
    if spec.is_async:

        @functools.wraps(function)
        async def run_async(*args: Any, **kwargs: Any) -> Any:
            await sync_to_async(close_old_connections)()
            try:
                return await function(*args, **kwargs)
            finally:
                await sync_to_async(close_old_connections)()

        return spec._replace(function=run_async)

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        close_old_connections()
        try:
            return function(*args, **kwargs)
        finally:
            close_old_connections()

    return spec._replace(function=run)


def ready() -> Sedano:
    """Set Django up and return the project's app."""
    django.setup()
    found = configured_app()
    tasks = found.registry.tasks
    tasks.update({name: with_fresh_connections(spec) for name, spec in tasks.items() if name not in BUILT_IN})
    return found


app = ready()
