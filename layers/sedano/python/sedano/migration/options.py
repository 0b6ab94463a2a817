"""Celery's options and signals: each with its answer. `docs/celery.md` shows these tables."""

from __future__ import annotations

from sedano.migration.answers import CHANGE, LOST, REMOVE, SAME, answer

OPTIONS = (
    answer(
        SAME,
        "name bind ignore_result time_limit soft_time_limit expires countdown eta task_id queue link link_error",
        "The same.",
    ),
    answer(CHANGE, "headers", "The same, except in a task with `batch=`, which takes none ([headers](results.md#headers))."),
    answer(
        CHANGE,
        "max_retries default_retry_delay",
        "With `autoretry_for`: `Retry(max_retries=…, interval_start=…)`. Without it, they apply to `self.retry` alone: `retry=False`, and "
        "`with retry(max_retries=…, interval_start=…): raise` there.",
    ),
    answer(
        CHANGE,
        "autoretry_for",
        "Every error is retried by default; a task without this option needs `retry=False`. For some errors only: `retry=False`, and "
        "`except OSError:` with `with retry(…): raise` in it ([retries as in Celery](celery.md#retries-as-in-celery)).",
    ),
    answer(CHANGE, "dont_autoretry_for", "`except KeyError:` with `with poisonous(): raise` in it."),
    answer(CHANGE, "retry_backoff retry_backoff_max retry_jitter retry_kwargs", "`Retry(backoff=…, interval_max=…, jitter=…)`."),
    answer(CHANGE, "throws", "Raise `Ignore` or `Reject`."),
    answer(CHANGE, "rate_limit", '`rate="10/s"`; it applies to all workers together, or to each one with `per="worker"`.'),
    answer(
        CHANGE,
        "priority",
        'A band: `priority="high"`, at the task or at the call, with a queue `<queue>-high` of the app ([flow](flow.md)).',
    ),
    answer(CHANGE, "shadow", "None: give the task another `name=`."),
    answer(REMOVE, "serializer compression", "None: a message is JSON."),
    answer(CHANGE, "routing_key exchange", "`queue=`."),
    answer(REMOVE, "delivery_mode producer", "None: SQS always stores messages; `with app.batch():` sends several together."),
    answer(
        REMOVE,
        "acks_late acks_on_failure_or_timeout acks_on_failure acks_on_timeout reject_on_worker_lost retry_on_worker_lost "
        "track_started send_events trail typing",
        "Always on.",
    ),
    answer(
        LOST,
        "store_errors_even_if_ignored",
        "None: `ignore_result` keeps no error for `get()`. The log and the [history](history.md) have it.",
    ),
    answer(REMOVE, "resultrepr_maxsize", "None: logs and events carry no results."),
    answer(CHANGE, "base", "None: a task is a function. [Hooks](hooks.md) of the app replace those of a class."),
    answer(REMOVE, "backend", "None: there is one store."),
)
SIGNALS = (
    answer(CHANGE, "task_success", "`task.s(…).link(…)`, [`app.after_run`](hooks.md), or the [history](history.md)."),
    answer(
        CHANGE,
        "task_failure",
        "[`app.on_failure`](hooks.md), `link_error`, one log line with the traceback, the metric `TasksFailed`.",
    ),
    answer(CHANGE, "before_task_publish after_task_publish", "[`app.on_publish`](hooks.md)."),
    answer(CHANGE, "task_prerun task_postrun", "[`app.before_run`, `app.after_run`](hooks.md)."),
    answer(CHANGE, "task_retry", "[`app.on_retry`](hooks.md), a log line, the [history](history.md)."),
    answer(
        CHANGE,
        "task_revoked",
        "[`app.on_revoke`](hooks.md), but not for a task that is revoked by its id before a worker takes it; the [history](history.md).",
    ),
    answer(LOST, "task_received", "None: no hook runs. The [history](history.md) has one row for each."),
    answer(
        LOST,
        "task_rejected task_unknown task_internal_error",
        "None: no hook runs. The message is parked with its reason, `MessagesParked` counts it; `sedano parked list` shows it.",
    ),
    answer(
        CHANGE,
        "worker_init worker_process_init worker_ready celeryd_init celeryd_after_setup worker_before_create_process",
        "[`@app.boot`](boot.md): a step that runs once in each worker, before its first task; [`app.on_worker_start`](hooks.md) "
        "if there is nothing to stop.",
    ),
    answer(
        CHANGE,
        "worker_shutdown worker_shutting_down worker_process_shutdown",
        "The code after the `yield` of an [`@app.boot`](boot.md) step; not on Lambda, which ends a worker without notice.",
    ),
    answer(CHANGE, "setup_logging after_setup_logger after_setup_task_logger", "Configure `logging` in the module of your app."),
    answer(REMOVE, "beat_init beat_embedded_init", "None: there is no beat."),
    answer(CHANGE, "heartbeat_sent", "`app.control.members()` has the last heartbeat of each worker."),
    answer(
        REMOVE,
        "eventlet_pool_started eventlet_pool_preshutdown eventlet_pool_postshutdown eventlet_pool_apply",
        "None: use `async def` bodies.",
    ),
)
