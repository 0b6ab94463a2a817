"""Celery's settings: each with its answer. `docs/celery.md` shows these tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sedano.migration.answers import CHANGE, LOST, REMOVE, NameAnswer, answer

TASKS = (
    answer(
        REMOVE,
        "task_acks_late task_acks_on_failure_or_timeout task_acks_on_failure task_acks_on_timeout",
        "A message is acknowledged after the outcome of its task is recorded; there is no other mode.",
    ),
    answer(
        REMOVE,
        "task_reject_on_worker_lost task_retry_on_worker_lost",
        "A message whose worker died is delivered again; one that kills its workers repeatedly is parked.",
    ),
    answer(
        CHANGE,
        "task_always_eager task_eager_propagates task_store_eager_result",
        "`sedano.testing.world(app)`, or the fixture `sedano_world`, runs tasks in memory ([testing](testing.md)).",
    ),
    answer(
        CHANGE,
        "task_annotations",
        "Write the options at `@app.task(…)`. `app.control.rate_limit`, `.concurrency` and `.time_limit` change limits at run "
        "time.",
    ),
    answer(CHANGE, "task_default_queue task_queues", '`Sedano(queues=("default", "mail"))`; the first queue is the default.'),
    answer(
        CHANGE,
        "task_routes",
        "`Sedano(routes={\"mail.*\": \"mail\"})` ([publishing](publishing.md#routes)); a task's own `queue=`, or that of the call, "
        "overrides it.",
    ),
    answer(
        REMOVE,
        "task_create_missing_queues task_create_missing_queue_*",
        "None: a deployment creates the queues that the app declares, and an unknown name is an error.",
    ),
    answer(
        REMOVE,
        "task_default_queue_type task_default_exchange task_default_exchange_type task_default_routing_key "
        "task_default_delivery_mode",
        "None: SQS has no exchanges and always stores messages.",
    ),
    answer(
        CHANGE,
        "task_default_priority task_queue_max_priority task_inherit_parent_priority",
        "`@app.task(priority=…)` uses a separate queue; a task does not inherit it ([flow](flow.md)).",
    ),
    answer(CHANGE, "task_default_rate_limit", '`@app.task(rate="200/m")` at each task; the limit applies to all workers together.'),
    answer(CHANGE, "task_ignore_result", "`@app.task(ignore_result=True)` at each task."),
    answer(
        LOST,
        "task_store_errors_even_if_ignored",
        "None: `ignore_result` keeps no error for `get()`. The log and the [history](history.md) have it.",
    ),
    answer(
        CHANGE,
        "task_soft_time_limit task_time_limit",
        "`soft_time_limit=` and `time_limit=` at each task; `timeout=` is the limit of a stage.",
    ),
    answer(REMOVE, "task_serializer accept_content task_compression", "None: a message is JSON; long arguments are stored in S3."),
    answer(REMOVE, "task_protocol", "None: there is one [protocol](protocol/README.md)."),
    answer(
        CHANGE,
        "task_publish_retry task_publish_retry_policy",
        "A publication is retried within `Sedano(call_timeout=)`, then stored on disk ([publishing](publishing.md)).",
    ),
    answer(CHANGE, "task_remote_tracebacks", "`result.traceback` has the traceback as text."),
    answer(REMOVE, "task_repr_maxlevels", "None: logs and events carry no arguments."),
    answer(REMOVE, "task_send_sent_event task_track_started", "None: the [history](history.md) has every state of every task."),
    answer(
        CHANGE,
        "task_allow_error_cb_on_chord_header",
        "`link_error` on a chord is called for each member that fails and for the body, once for each failure "
        "([canvas](canvas.md)).",
    ),
    answer(CHANGE, "imports include", "Import the modules of your tasks in the module of your app."),
    answer(CHANGE, "enable_utc timezone", 'Times are UTC. Each timetable names its zone: `cron("0 9 * * *", tz="Europe/Berlin")`.'),
)
RESULTS = (
    answer(
        REMOVE,
        "result_backend",
        "None: results are in the stage's DynamoDB table, large ones in S3. Other systems receive them by [sinks](sinks.md).",
    ),
    answer(REMOVE, "result_backend_* result_exchange result_exchange_type result_persistent", "None."),
    answer(REMOVE, "result_expires result_failure_expires result_chord_expires", "None: a record is kept for 44 days."),
    answer(LOST, "result_extended", "None: a record keeps no arguments; store what you need beside `result.id`."),
    answer(REMOVE, "result_serializer result_accept_content result_compression", "None: a result is JSON; a long one is stored in S3."),
    answer(REMOVE, "result_cache_max", "None: a result handle keeps the result that it has read."),
    answer(
        REMOVE,
        "result_chord_retry_interval result_chord_join_timeout",
        "None: the last member to end publishes the body; no worker polls.",
    ),
    answer(
        REMOVE,
        "database_* redis_* cache_* mongodb_* cassandra_* elasticsearch_* couchbase_* arangodb_* cosmosdbsql_* azureblockblob_* "
        "gcs_* s3_*",
        "None: there is one store. `Sedano(connect=)` replaces individual ports.",
    ),
)
BROKER = (
    answer(
        CHANGE,
        "broker_url broker_read_url broker_write_url broker_host broker_port broker_user broker_password broker_vhost "
        "broker_transport broker_use_ssl broker_login_method",
        "A program finds its stage by the outputs of the deployment (`sedano outputs`). It uses AWS credentials, and "
        "connections use TLS.",
    ),
    answer(CHANGE, "broker_connection_timeout broker_pool_acquire_timeout", "`Sedano(call_timeout=)`: 5 s by default."),
    answer(CHANGE, "broker_transport_options", "The settings of the stage, such as `retention=` ([deploy](deploy.md#settings))."),
    answer(CHANGE, "broker_failover_strategy", "`Sedano(brokers=[sqs(), sqs(region=…)])`: in order of preference ([brokers](brokers.md))."),
    answer(
        REMOVE,
        "broker_connection_* broker_channel_error_retry broker_heartbeat* broker_pool_limit "
        "broker_native_delayed_delivery_queue_type",
        "None: there is no connection to keep.",
    ),
    answer(CHANGE, "security_*", "IAM decides who may send; [keys](deploy.md#keys) of the stage mark its messages."),
    answer(REMOVE, "control_* event_*", "None: control and events need no separate queues."),
)
BEAT = (
    answer(CHANGE, "beat_schedule", "`@app.periodic(…)` in code, `app.schedules.add(…)` at run time ([time](time.md))."),
    answer(CHANGE, "beat_cron_starting_deadline", "`misfire_grace=` of a periodic task."),
    answer(REMOVE, "beat_*", "None: a function is invoked every minute, and nothing is stored on your disk."),
)
WORKERS = (
    answer(
        CHANGE,
        "worker_concurrency worker_autoscaler",
        "`sedano worker -c N` in [processes of your own](worker.md), and `sedano scale QUEUE N` while they run. On Lambda, "
        "`concurrency=` and `queue_concurrency=` of the stage; it starts workers as needed.",
    ),
    answer(
        CHANGE,
        "worker_prefetch_multiplier worker_disable_prefetch worker_enable_prefetch_count_reduction",
        "`sedano worker` asks for a message only while one of its `--concurrency` bodies is free. On Lambda, `batch=` of the stage.",
    ),
    answer(REMOVE, "worker_eta_task_limit", "None: tasks that wait for their start time occupy no worker."),
    answer(
        CHANGE,
        "worker_pool",
        "`sedano worker --processes N` instead of prefork, `--concurrency N` instead of threads, `async def` bodies instead of eventlet "
        "and gevent. Lambda needs none.",
    ),
    answer(
        CHANGE,
        "worker_pool_restarts",
        "`sedano worker --processes N` starts a process that ended again. Lambda needs none.",
    ),
    answer(
        CHANGE,
        "worker_proc_alive_timeout worker_lost_wait",
        "`sedano worker --processes N --watchdog S` replaces a process that hangs. Lambda needs none.",
    ),
    answer(
        REMOVE,
        "worker_pool_* worker_timer worker_timer_precision worker_consumer worker_direct worker_detect_quorum_queues",
        "None: these choose parts of Celery's worker.",
    ),
    answer(CHANGE, "worker_agent", "[`@app.boot`](boot.md) runs a service of your own in each worker."),
    answer(
        CHANGE,
        "worker_max_tasks_per_child",
        "`sedano worker --max-tasks N` ([several processes](worker.md#several-processes)). Lambda needs none.",
    ),
    answer(
        CHANGE,
        "worker_max_memory_per_child",
        "`sedano worker --max-memory N`, in MiB ([several processes](worker.md#several-processes)). On Lambda, `memory=` of the stage.",
    ),
    answer(
        CHANGE,
        "worker_soft_shutdown_timeout",
        "`sedano worker --drain S` ([the end](worker.md#the-end)). Lambda needs none.",
    ),
    answer(
        REMOVE,
        "worker_enable_soft_shutdown_on_idle worker_cancel_long_running_tasks_on_connection_loss",
        "None: a worker gives back what it has not begun, and no connection owns a task.",
    ),
    answer(REMOVE, "worker_deduplicate_successful_tasks", "Always on: a task that has ended does not run again."),
    answer(CHANGE, "worker_disable_rate_limits", "`app.control.rate_limit(task, None)` removes the limit of a task."),
    answer(CHANGE, "worker_enable_remote_control", "`app.control` always works: it writes a record that workers read."),
    answer(REMOVE, "worker_state_db", "None: a revoked task is recorded in the stage's table."),
    answer(REMOVE, "worker_send_task_events", "Always on ([history](history.md))."),
    answer(
        CHANGE,
        "worker_hijack_root_logger worker_log_* worker_task_log_* worker_redirect_stdouts worker_redirect_stdouts_level",
        "Python's `logging`. `sedano worker --log` chooses lines or JSON; functions write JSON lines with task and id "
        "([logs](cluster.md#logs)).",
    ),
)
SETTINGS: Mapping[str, Sequence[NameAnswer]] = {"Tasks": TASKS, "Results": RESULTS, "Broker": BROKER, "Beat": BEAT, "Workers": WORKERS}
"""The answers by the heading of their table."""
