"""What to write instead: for the names by which Celery knows an option or a method, and for names that are nearly one of ours.

Loaded by whoever gives a name that is not there, to say so; nobody else pays for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

_ALWAYS = "it is always so here: leave it out"
_POLICY = "write retry=Retry({}=…)"
OPTIONS = {
    "acks_late": "a message is acknowledged when its outcome is recorded, always: leave it out",
    "acks_on_failure_or_timeout": _ALWAYS,
    "autoretry_for": "whatever a task raises is tried again: retry=Retry(…) says how often, `with poisonous():` marks what never is",
    "base": "a task is a function: what its calls share stands in its module",
    "compression": "long arguments lie in S3: leave it out",
    "default_retry_delay": _POLICY.format("interval_start"),
    "dont_autoretry_for": "put what must not be tried again into a section `with poisonous():`",
    "exchange": "write queue=…",
    "headers": "write stamps={…}: they travel to all that the task causes",
    "max_retries": _POLICY.format("max_retries"),
    "priority": "a task has it: @app.task(priority=…), or send the call to a queue of its own with queue=…",
    "producer": "what is published under `with app.batch():` goes out together: leave it out",
    "rate_limit": "write rate=…: it holds for all workers together, or for each with per='worker'",
    "reject_on_worker_lost": _ALWAYS,
    "retry": "what cannot be sent is kept and sent again: leave it out",
    "retry_backoff": _POLICY.format("backoff"),
    "retry_backoff_max": _POLICY.format("interval_max"),
    "retry_jitter": _POLICY.format("jitter"),
    "retry_kwargs": "write retry=Retry(…)",
    "retry_policy": "what cannot be sent is kept and sent again: leave it out",
    "routing_key": "write queue=…",
    "serializer": "messages are JSON, always: leave it out",
    "throws": "raise Ignore(…) or Reject(…) for an end that is expected",
    "track_started": _ALWAYS,
}
"""Celery's names of options that sedano has not."""
ATTRIBUTES = {
    "add_periodic_task": "write @app.periodic(every(…)), or app.schedules.add(…) while it runs",
    "apply": "call the task itself, or test it in sedano.testing.world(app)",
    "AsyncResult": "write app.result(id)",
    "autodiscover_tasks": "import the modules of your tasks in the module of your app",
    "conf": "options stand in Sedano(…) and @app.task(…), what is deployed in the stage's settings (docs/deploy.md)",
    "config_from_object": "options stand in Sedano(…) and @app.task(…), what is deployed in the stage's settings (docs/deploy.md)",
    "GroupResult": "write app.group_result(id)",
    "on_after_configure": "write @app.periodic(…) above the task",
    "retry": "raise the error: the task is tried again by its retry=Retry(…), a part of its body by `with retry(…):`",
    "run": "call the task itself",
    "start": "no worker is started: `make local APP=… CODE=…` runs the app here, `make deploy` on AWS",
    "subtask": "write task.signature(…)",
    "worker_main": "no worker is started: `make local APP=… CODE=…` runs the app here, `make deploy` on AWS",
}
"""Celery's names of what a task or an app can do, where sedano has another."""


def instead(name: str, known: Sequence[str]) -> str:
    """Return what to write instead of the option *name*: what Celery's name is here, or those that are *known*, and which is nearest."""
    near = get_close_matches(name, known, n=1)
    return OPTIONS.get(name) or f"known are {', '.join(known)}{f'; did you mean {near[0]}?' if near else ''}"


def missing(owner: object, name: str) -> AttributeError:
    """Return the error that *owner* has no attribute *name*, with what to write instead of it."""
    hint = ATTRIBUTES.get(name)
    told = f"{type(owner).__name__!r} object has no attribute {name!r}{f'; {hint}' if hint else ''}"
    return AttributeError(told, name=name, obj=owner)
