"""Replacements for Celery's names of options and methods, and for misspelt names.

Loaded only to explain an unknown name, so other programs do not pay for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from opcode import opmap
from types import FrameType

_ALWAYS = "always enabled in sedano; remove this option"
_CONFIG = "write options in Sedano(…) and @app.task(…), and settings of the deployment in the stage's settings (docs/deploy.md)"
_EAGER = "test the app in `with sedano.testing.world(app)`: tasks run in memory, with retries, limits and timers"
_IMPORTS = "import the modules of your tasks in the module of your app"
_NO_BROKER = "sedano holds no connection: publish with task.delay(…), or several together in `with app.batch():`"
_NO_WORKER = (
    "start workers from the shell: `sedano dev` on this machine, `sedano worker` in processes of your own (docs/worker.md); on Lambda, "
    "`sedano deploy` (docs/deploy.md)"
)
_CURRENT = "write sedano.current(), which returns the running task"
_PERIODIC = "write @app.periodic(…) above the task"
_STATES = "write current().update_state(state, meta), or self.request.update_state(state, meta)"
_HOOK = "write a hook of the app (app.before_run, after_run, on_retry, on_failure), or link a callback (task.s(…).link(…), link_error(…))"
_RECORD = "a result does not have the task's arguments; store what you need with result.id"
_NOT_ASKED = "inspect() reads the stores and asks no worker"
_SCALES = (
    "give `sedano scale QUEUE N` for workers that run (docs/cluster.md); Lambda starts as many as there is work, up to the stage's "
    "settings (docs/deploy.md)"
)
_ZONE = "each timetable names its own: cron('0 9 * * *', tz='Europe/Berlin')"
_POLICY = "write retry=Retry({}=…)"
OPTIONS = {
    "acks_late": "a message is always acknowledged after its outcome is recorded; remove this option",
    "acks_on_failure_or_timeout": _ALWAYS,
    "autofinalize": _ALWAYS,
    "autoretry_for": "every error is retried; retry=Retry(…) sets how often, and errors inside `with poisonous():` are never retried",
    "backend": "results are in the stage's table (docs/results.md); remove this option",
    "base": "a task is a function: keep shared state in its module",
    "broker": "an app finds its queues by the settings of its stage (`sedano outputs`); remove this option",
    "broker_url": "an app finds its queues by the settings of its stage (`sedano outputs`); remove this option",
    "compression": "long arguments are stored in S3; remove this option",
    "config_source": _CONFIG,
    "default_retry_delay": _POLICY.format("interval_start"),
    "dont_autoretry_for": "put code whose errors must not be retried into `with poisonous():`",
    "exchange": "write queue=…",
    "fixups": _ALWAYS,
    "headers": "give them to a call: task.apply_async(headers={…})",
    "imports": _IMPORTS,
    "include": _IMPORTS,
    "main": "write the name as the first argument: Sedano('shop')",
    "max_retries": _POLICY.format("max_retries"),
    "namespace": _CONFIG,
    "priority": "write the name of a band, priority='high', whose queue <queue>-high the app names (docs/flow.md)",
    "producer": "remove this option; `with app.batch():` sends messages together",
    "rate_limit": "write rate=…, which limits all workers together; per='worker' limits each worker",
    "reject_on_worker_lost": _ALWAYS,
    "retry": "a message that cannot be sent is stored and sent again; remove this option",
    "retry_backoff": _POLICY.format("backoff"),
    "retry_backoff_max": _POLICY.format("interval_max"),
    "retry_jitter": _POLICY.format("jitter"),
    "retry_kwargs": "write retry=Retry(…)",
    "retry_policy": "a message that cannot be sent is stored and sent again; remove this option",
    "routing_key": "write queue=…",
    "result_backend": "results are in the stage's table (docs/results.md); remove this option",
    "serializer": "messages are always JSON; remove this option",
    "set_as_current": "an app is a value: import it from its module",
    "strict_typing": _ALWAYS,
    "task_always_eager": _EAGER,
    "task_cls": "a task is a function: keep shared state in its module",
    "task_default_queue": "write Sedano(…, queues=('name', …)): the first one is the default",
    "task_queues": "write Sedano(…, queues=('name', …))",
    "task_routes": "write Sedano(…, routes={'mail.*': 'mail'}), or @app.task(queue=…)",
    "throws": "raise Ignore(…) or Reject(…) for an expected failure",
    "timezone": _ZONE,
    "track_started": _ALWAYS,
}
"""Celery's names of options that sedano does not have."""
APP = {
    "add_defaults": _CONFIG,
    "add_periodic_task": "write @app.periodic(every(…)), or app.schedules.add(…) while it runs",
    "amqp": _NO_BROKER,
    "AsyncResult": "write app.result(id)",
    "autodiscover_tasks": _IMPORTS,
    "backend": "write app.result(id): results are in the stage's table",
    "Beat": "declare @app.periodic(…); the stage's scheduler runs it, without a beat process",
    "broker_connection": _NO_BROKER,
    "conf": _CONFIG,
    "config_from_envvar": _CONFIG,
    "config_from_object": _CONFIG,
    "connection": _NO_BROKER,
    "connection_for_read": _NO_BROKER,
    "connection_for_write": _NO_BROKER,
    "connection_or_acquire": _NO_BROKER,
    "current_task": _CURRENT,
    "current_worker_task": _CURRENT,
    "default_connection": _NO_BROKER,
    "events": "the history has past events of the workers (docs/history.md); `sedano cluster` shows the current ones",
    "finalize": "a task is declared when its module is imported; remove this call",
    "gen_task_name": "a task's name is module.function, unless @app.task(name=…) sets another",
    "GroupResult": "write app.group_result(id)",
    "loader": _IMPORTS,
    "log": "write logging.getLogger(__name__): each record gets the task, its id and its trace",
    "main": "write app.name",
    "now": "write datetime.now(UTC)",
    "on_after_configure": _PERIODIC,
    "on_after_finalize": _PERIODIC,
    "on_after_fork": "workers do not fork; create what each process needs in a step of @app.boot (docs/boot.md)",
    "on_configure": _CONFIG,
    "pool": _NO_BROKER,
    "producer_or_acquire": _NO_BROKER,
    "producer_pool": _NO_BROKER,
    "register_task": "write @app.task above the function",
    "ResultSet": "write sedano.ResultSet([…])",
    "select_queues": "write `sedano worker --queues NAMES` (docs/worker.md); a function of a stage reads one queue",
    "set_current": "an app is a value: import it from its module",
    "set_default": "an app is a value: import it from its module",
    "setup_security": "IAM controls who may send, and keys of the stage seal messages (docs/deploy.md); remove this call",
    "start": _NO_WORKER,
    "Task": "a task is a function: write @app.task above it",
    "tasks": "write app.control.inspect().registered()",
    "timezone": _ZONE,
    "Worker": _NO_WORKER,
    "WorkController": _NO_WORKER,
    "worker_main": _NO_WORKER,
}
TASK = {
    "after_return": _HOOK,
    "app": "import the app from its module",
    "apply": "call the task itself, or test it in sedano.testing.world(app)",
    "apply_async_on_commit": "write sedano.django.apply_on_commit(task, args, kwargs, …)",
    "AsyncResult": "write app.result(id)",
    "backend": "write app.result(id): results are in the stage's table",
    "before_start": "do it at the beginning of the body",
    "delay_on_commit": "write sedano.django.delay_on_commit(task, …)",
    "MaxRetriesExceededError": "after its last attempt a task fails with the last error of its body; no other error is raised",
    "on_failure": _HOOK,
    "on_retry": "publish a domain event in the body's `except` to report an attempt; the history has all attempts (docs/history.md)",
    "on_success": _HOOK,
    "OperationalError": "a message that cannot be published raises sedano.errors.PublishError",
    "retry": (
        "raise the error: retry=Retry(…) runs the task again, and `with retry(…):` a part of its body; current().retry(args=…, "
        "countdown=…) in them chooses other arguments or another pause"
    ),
    "run": "call the task itself",
    "send_event": "declare a domain event (@app.event) and publish it with Event.delay(…)",
    "signature_from_request": "raise the error; retry=Retry(…) runs the task again",
    "subtask": "write task.signature(…)",
    "subtask_from_request": "raise the error; retry=Retry(…) runs the task again",
    "update_state": _STATES,
}
RESULT = {
    "app": "import the app from its module",
    "args": _RECORD,
    "as_list": "write result.id; app.result(id) returns the result",
    "as_tuple": "write result.id; app.result(id) returns the result",
    "backend": "write app.result(id): results are in the stage's table",
    "build_graph": "write result.graph",
    "date_done": "write app.control.explain(result.id), which says when the task ended",
    "exists": "write result.state",
    "get_leaf": "write result.collect(); its last item is the leaf",
    "ignored": "write result.keeps; it is False if no result is kept",
    "iterdeps": "write result.graph, or result.collect()",
    "kwargs": _RECORD,
    "maybe_reraise": "write result.maybe_throw()",
    "queue": "write app.control.explain(result.id)",
    "revoke_by_stamped_headers": "write app.control.revoke_by_stamped_headers({…})",
    "then": "link a callback (task.s(…).link(…)), or await the result",
    "throw": "write result.maybe_throw()",
    "TimeoutError": "write sedano.errors.ResultTimeout",
    "worker": "write app.control.explain(result.id)",
}
INSPECT = {
    "active_queues": "write app.queues",
    "clock": _NOT_ASKED,
    "conf": _CONFIG,
    "hello": "write app.control.members()",
    "memdump": _NOT_ASKED,
    "memsample": _NOT_ASKED,
    "objgraph": _NOT_ASKED,
    "ping": f"{_NOT_ASKED}; write app.control.broadcast('ping'), then app.control.answers(id)",
    "query_task": "write app.control.explain(id)",
    "registered_tasks": "write registered()",
    "report": "write app.control.members()",
    "revoked": "write app.control.hello().revoked, or app.control.explain(id) for one task",
}
CONTROL = {
    "add_consumer": "write app.control.resume_queue(name)",
    "autoscale": _SCALES,
    "broadcast": f"{_NOT_ASKED}; workers follow the control record: pause, revoke, rate_limit",
    "cancel_consumer": "write app.control.pause_queue(name)",
    "disable_events": _ALWAYS,
    "discard_all": "run `sedano purge QUEUE`",
    "enable_events": _ALWAYS,
    "heartbeat": "write app.control.members()",
    "ping": "write app.control.members()",
    "pool_grow": _SCALES,
    "pool_restart": "a deployment starts new workers; the service manager of `sedano worker` restarts its processes (docs/worker.md)",
    "pool_shrink": _SCALES,
    "purge": "run `sedano purge QUEUE`",
    "shutdown": "workers on Lambda end without a command; app.control.pause_queue(name) stops a queue",
    "terminate": "write app.control.revoke(id, terminate=True)",
}
SIGNATURE = {
    "args": "write signature.spec.args",
    "flatten_links": "write signature.tree",
    "from_dict": "write app.signature(name, args, kwargs)",
    "id": "write signature.freeze().id, or what delay() returns",
    "immutable": "write signature.spec.immutable",
    "kwargs": "write signature.spec.kwargs",
    "name": "write signature.task",
    "options": "write signature.spec.options, and set(…) to change them",
    "partial": "write signature.clone(args, kwargs)",
    "replace": "write signature.clone(args, kwargs)",
    "set_immutable": "write task.si(…)",
}
PACKAGE = {
    "Celery": "write `from sedano import Sedano`, then app = Sedano('shop')",
    "crontab": "write `from sedano import cron`, then @app.periodic(cron('0 9 * * MON-FRI'))",
    "current_app": "an app is a value: import it from its module",
    "current_task": "write `from sedano import current`, then current()",
    "maybe_signature": "write `from sedano import signature`",
    "schedule": "write `from sedano import every`, then @app.periodic(every(60))",
    "shared_task": "write shared = sedano.SharedTasks(), then @shared.task; the app includes them: app.include(shared)",
    "Signature": "write `from sedano import Sig`",
    "signals": "a task links callbacks (task.s(…).link(…)); domain events are declared with @app.event",
    "solar": "write `from sedano import cron`, or add moments while it runs: app.schedules.add(…)",
    "states": "a state is a string: result.state == 'SUCCESS'",
    "Task": "a task is a function: write @app.task above it",
    "uuid": "write uuid.uuid4() of the standard library; delay() gives each call an id",
    "xmap": "write task.map(…)",
    "xstarmap": "write task.starmap(…)",
}
ATTRIBUTES: Mapping[str, Mapping[str, str]] = {
    "Sedano": APP, "Task": TASK, "AsyncResult": RESULT, "Inspect": INSPECT, "Control": CONTROL, "Form": SIGNATURE,
}  # fmt: skip
"""Celery's names of methods and attributes that have another name in sedano, by sedano's class."""
ALIKE, LONGEST = 0.85, 256
"""The similarity from which a task's name counts as a misspelling of another; the longest name that a message can carry."""
DECLARED = ("expires", "ignore_result", "soft_time_limit", "time_limit")
"""Options of a task that Celery's task also has as attributes."""


def instead(name: str, known: Sequence[str]) -> str:
    """Return what to write instead of the option *name*: the replacement of Celery's name, or the *known* options and the nearest of
    them."""
    near = nearest(name, known)
    return OPTIONS.get(name) or f"known are {', '.join(known)}{f'; did you mean {near}?' if near else ''}"


def nearest(name: str, known: Sequence[str], alike: float = 0.6) -> str:
    """Return the *known* name most similar to *name* (*alike*: the least similarity, up to 1); empty without one."""
    return next(iter(get_close_matches(name, known, n=1, cutoff=alike)), "")


def misspelt(name: str, known: Iterable[str]) -> str:
    """Return the *known* task that *name* probably misspells; empty without one. The library's own tasks do not count."""
    return nearest(name[:LONGEST], [one for one in known if not one.startswith("sedano.")], ALIKE)


def missing(owner: object, name: str) -> AttributeError:
    """Return the error that *owner* has no attribute *name*, with what to write instead of it."""
    own = next((hints for cls in type(owner).__mro__ if (hints := ATTRIBUTES.get(cls.__name__)) is not None), {})
    hint = own.get(name)
    if hint is None and own is TASK:
        hint = f"it is an option: @app.task({name}=…)" if name in DECLARED else OPTIONS.get(name)
    told = f"{type(owner).__name__!r} object has no attribute {name!r}{f'; {hint}' if hint else ''}"
    return AttributeError(told, name=name, obj=owner)


def not_here(name: str, asked: FrameType) -> ImportError | AttributeError:
    """Return the error that the package has no *name*, with what to write instead; *asked*: the frame that asks for it.

    Where `from sedano import …` asks, it is an `ImportError`: Python replaces the words of any other.
    """
    hint = PACKAGE.get(name)
    told = f"; {hint}" if hint else ""
    if asked.f_code.co_code[max(asked.f_lasti, 0)] == opmap["IMPORT_FROM"]:
        return ImportError(f"cannot import name {name!r} from 'sedano'{told}", name="sedano")
    return AttributeError(f"module 'sedano' has no attribute {name!r}{told}")
