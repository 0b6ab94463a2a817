"""Django: the app by a setting, the tasks of installed apps, publication after a commit, and a backend for Django's own tasks.

    # settings.py
    INSTALLED_APPS = [..., "sedano.django"]
    SEDANO_APP = "shop.queue:app"                                           # shop/queue.py: app = Sedano("shop")
    TASKS = {"default": {"BACKEND": "sedano.django.backend.SedanoBackend"}}  # only for tasks of `django.tasks`

`sedano.django.worker:app` is the app to deploy: it sets Django up first. Needs the package django.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction

from sedano.app import Sedano, load
from sedano.model.tasks.signature import given
from sedano.task import P, Task

if TYPE_CHECKING:
    from typing import Unpack

    from sedano.model.tasks.published_options import LinkedOptions

SETTING = "SEDANO_APP"


def configured_app() -> Sedano:
    """Return the app that the setting SEDANO_APP names.

    Raises:
        ImproperlyConfigured: the setting is missing.
        ConfigurationError: it does not name an app.
    """
    named = getattr(settings, SETTING, None)
    if not isinstance(named, str) or not named:
        raise ImproperlyConfigured(f"{SETTING} is missing: write {SETTING} = 'shop.queue:app', the module and the name of your Sedano app")
    return load(named, f"settings.{SETTING}")


def delay_on_commit(task: Task[P, Any], *args: P.args, **kwargs: P.kwargs) -> None:
    """Publish *task* when the transaction commits; without a transaction now, and never when it is rolled back.

    The arguments are checked at once, so that a wrong one raises in the transaction. It returns no result, because nothing is published
    yet.

    Raises:
        ArgumentError: the arguments do not fit the task's parameters.
    """
    apply_on_commit(task, args, kwargs)


def apply_on_commit(
    task: Task[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, *, using: str | None = None,
    **options: Unpack[LinkedOptions],
) -> None:  # fmt: skip
    """Publish *task* with options when the transaction of the database *using* commits; see `delay_on_commit`.

    Args:
        task: the task.
        args: its arguments.
        kwargs: its keyword arguments.
        using: the alias of the database; by default ``default``.
        options: see `sedano.model.tasks.signature.Options`.

    Raises:
        ArgumentError: the arguments do not fit the task's parameters.
    """
    first, named = given(args, kwargs)
    task.spec.parameters.fit(first, named)
    transaction.on_commit(functools.partial(task.apply_async, first, named, **options), using=using)
