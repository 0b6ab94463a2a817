"""Names that a Celery application imports: each with its answer. `docs/celery.md` shows this table."""

from __future__ import annotations

from sedano.migration.answers import CHANGE, LOST, REMOVE, SAME, answer

IMPORTS = (
    answer(
        CHANGE,
        "celery celery.app celery.canvas celery.exceptions celery.result celery.schedules celery.signals celery.utils celery.utils.log",
        "`import sedano`; this table has the names of these modules.",
    ),
    answer(CHANGE, "celery.Celery celery.app.Celery celery.app.base.Celery", '`from sedano import Sedano`, then `app = Sedano("shop")`.'),
    answer(
        CHANGE,
        "celery.shared_task celery.app.shared_task celery.decorators.task",
        "`shared_task = shared.task`, where `shared = sedano.SharedTasks()` ([tasks of a package](shared_tasks.md)).",
    ),
    answer(
        CHANGE,
        "celery.chain celery.group celery.chord celery.chunks celery.signature celery.canvas.chain celery.canvas.group "
        "celery.canvas.chord celery.canvas.chunks celery.canvas.signature",
        "The same name: `from sedano import …` ([canvas](canvas.md)).",
    ),
    answer(
        CHANGE,
        "celery.subtask celery.maybe_signature celery.canvas.subtask celery.canvas.maybe_signature",
        "`from sedano import signature`.",
    ),
    answer(CHANGE, "celery.Signature celery.canvas.Signature", "`from sedano import Sig`."),
    answer(CHANGE, "celery.xmap celery.xstarmap celery.canvas.xmap celery.canvas.xstarmap", "`task.map(…)`, `task.starmap(…)`."),
    answer(
        CHANGE,
        "celery.Task celery.app.task.Task celery.task.Task celery.contrib.django.task.DjangoTask",
        "A task is a function. Write `@app.task` above it; [hooks](hooks.md) of the app replace those of the class.",
    ),
    answer(CHANGE, "celery.current_app", "Import the app from its module."),
    answer(CHANGE, "celery.current_task", "`from sedano import current`, then `current()`."),
    answer(
        CHANGE,
        "celery.schedules.crontab celery.crontab",
        '`from sedano import cron`, then `cron("0 9 * * MON-FRI", tz="Europe/Berlin")` ([time](time.md)).',
    ),
    answer(CHANGE, "celery.schedules.schedule", "`from sedano import every`, then `every(minutes=5)`."),
    answer(LOST, "celery.schedules.solar", "None: `app.schedules.add(…)` adds moments that your code computes ([time](time.md))."),
    answer(LOST, "celery.schedules.BaseSchedule", "None: a timetable is `cron(…)`, `every(…)` or `at(…)` ([time](time.md))."),
    answer(CHANGE, "celery.result.AsyncResult", "`app.result(id)` ([results](results.md))."),
    answer(CHANGE, "celery.result.GroupResult", "`app.group_result(id)` ([results](results.md))."),
    answer(CHANGE, "celery.result.ResultSet", "`from sedano import ResultSet`."),
    answer(CHANGE, "celery.result.EagerResult", "`sedano.testing.world(app)` runs tasks in memory ([testing](testing.md))."),
    answer(
        LOST,
        "celery.result.allow_join_result celery.result.result_from_tuple",
        "None: a body does not wait for tasks; use a [canvas](canvas.md), or `result.id`.",
    ),
    answer(
        CHANGE,
        "celery.exceptions.SoftTimeLimitExceeded celery.exceptions.Ignore celery.exceptions.Reject "
        "billiard.exceptions.SoftTimeLimitExceeded",
        "The same name: `from sedano.errors import …`.",
    ),
    answer(CHANGE, "celery.exceptions.TimeoutError", "`from sedano.errors import ResultTimeout`."),
    answer(CHANGE, "celery.exceptions.OperationalError kombu.exceptions.OperationalError", "`from sedano.errors import PublishError`."),
    answer(CHANGE, "celery.exceptions.TaskRevokedError", "`from sedano.errors import TaskRevoked`."),
    answer(CHANGE, "celery.exceptions.NotRegistered", "`from sedano.errors import UnknownTask`."),
    answer(
        CHANGE,
        "celery.exceptions.Retry",
        "Raise the error: the policy `retry=Retry(…)` runs the task again; `current().retry(…)` with other arguments "
        "([retries](retries.md)).",
    ),
    answer(
        LOST,
        "celery.exceptions.MaxRetriesExceededError",
        "None: after its last attempt a task fails with the last error of its body.",
    ),
    answer(
        LOST,
        "celery.exceptions.TimeLimitExceeded billiard.exceptions.TimeLimitExceeded",
        "None: a body cannot catch it ([time limits](time_limits.md)); its `result.get()` raises a `RemoteError` with this name.",
    ),
    answer(LOST, "celery.exceptions.WorkerLostError", "None: after a crash of its worker, a task runs again."),
    answer(CHANGE, "celery.exceptions.*", "`sedano.errors` has the errors of sedano."),
    answer(
        CHANGE,
        "celery.utils.log.get_task_logger celery.utils.log.get_logger",
        "`logging.getLogger(__name__)`: each record gets the task, its id and its trace ([logs](cluster.md#logs)).",
    ),
    answer(CHANGE, "celery.uuid celery.utils.uuid celery.utils.gen_unique_id", "`str(uuid.uuid4())` of the standard library."),
    answer(CHANGE, "celery.states celery.states.*", 'A state is a string: `result.state == "SUCCESS"` ([results](results.md)).'),
    answer(
        LOST,
        "celery.backends celery.backends.* celery.loaders celery.loaders.* celery.concurrency.* celery.platforms.*",
        "None: there is one store, and no worker process of Celery.",
    ),
    answer(
        LOST,
        "celery.app.trace celery.app.amqp celery.app.backends celery.app.defaults celery.app.control celery.app.log celery.worker "
        "celery.worker.* celery.bootsteps celery.bootsteps.* celery.app.trace.* celery.app.control.* celery.app.amqp.*",
        "None: these are parts of Celery's worker. [`@app.boot`](boot.md) and [hooks](hooks.md) run code of yours in a worker.",
    ),
    answer(
        LOST,
        "celery.events celery.events.*",
        "None: the [history](history.md) has past events of the workers; `sedano cluster` shows the current ones.",
    ),
    answer(
        LOST,
        "celery.beat celery.beat.*",
        "None: there is no beat process; `app.schedules` changes schedules at run time ([time](time.md)).",
    ),
    answer(CHANGE, "celery.bin celery.bin.*", "`sedano` has its own [verbs](command_line.md)."),
    answer(
        CHANGE,
        "celery.contrib.testing celery.contrib.testing.* celery.contrib.pytest celery.contrib.pytest.*",
        "The fixture `sedano_world`, or `sedano.testing.world(app)` ([testing](testing.md)).",
    ),
    answer(
        CHANGE,
        "celery.contrib.abortable celery.contrib.abortable.*",
        "`result.revoke(terminate=True)`; the body calls `current().check()`.",
    ),
    answer(REMOVE, "celery.contrib.sphinx celery.contrib.rdb", "None."),
    answer(
        CHANGE,
        "kombu.Queue kombu.Exchange kombu.entity.Queue kombu.entity.Exchange kombu.common.Broadcast",
        '`Sedano(queues=("default", "mail"))`: a queue is a name. None for exchanges and broadcasts.',
    ),
    answer(
        LOST,
        "kombu.serialization.register kombu.serialization.*",
        "None: arguments and results are JSON; annotations restore other types ([arguments](arguments.md)).",
    ),
    answer(
        CHANGE,
        "django_celery_beat django_celery_beat.*",
        "`@app.periodic(…)` in code, `app.schedules.add(…)` at run time ([time](time.md)); there are no rows in your database.",
    ),
    answer(
        CHANGE,
        "django_celery_results django_celery_results.*",
        "`app.result(id)`; results are in the stage's table, and the [history](history.md) lists tasks.",
    ),
    answer(
        CHANGE,
        "celery_once celery_once.QueueOnce celery_once.AlreadyQueued celery_once.* celery_singleton celery_singleton.*",
        "`@app.task(singleton=…)` allows one run at a time for each key ([leases](leases.md)); duplicates in the queue wait for it, "
        'or are dropped with `on_busy="drop"`.',
    ),
    answer(LOST, "celery_batches celery_batches.*", "None under this name: `@app.task(batch=…)` passes several calls to one body."),
)
"""Names with their modules. A row with a name has precedence over one with a pattern."""

REQUEST = (
    answer(SAME, "id task root_id parent_id stamps", "The same."),
    answer(CHANGE, "retries", "`current().attempt`: the number of earlier attempts."),
    answer(CHANGE, "headers", "`current().headers`."),
    answer(CHANGE, "stamped_headers", "`current().stamps`."),
    answer(CHANGE, "correlation_id", "`current().id`."),
    answer(CHANGE, "update", "`current().update_state(…)`."),
    answer(LOST, "args kwargs argsrepr kwargsrepr", "None: the body has its arguments as parameters."),
    answer(
        LOST,
        "called_directly is_eager",
        "None: a direct call is a plain call of the function, and `current()` raises `SedanoError` in it.",
    ),
    answer(LOST, "hostname origin", "None: `app.control.explain(id)` has the worker of a task."),
    answer(LOST, "delivery_info reply_to properties exchange routing_key", "None: there is no broker's message behind a task."),
    answer(LOST, "eta expires timelimit", "None: a body does not see them."),
    answer(LOST, "group group_index chord chain callbacks errbacks", "None: the canvas is in the ledger; `result.graph` shows it."),
    answer(LOST, "*", "None."),
)
"""Fields of `self.request`."""

RETRY = (
    answer(
        CHANGE,
        "exc throw",
        "`with retry(…): raise` where the body calls `self.retry`, and `retry=False` at the task: else every error is retried "
        "([retries](retries.md)).",
    ),
    answer(CHANGE, "max_retries", "`with retry(max_retries=…): raise`; `max_retries=None` for no limit."),
    answer(
        CHANGE,
        "countdown",
        "`with retry(interval_start=…, backoff=1, interval_max=…, jitter=False): raise`, or `current().retry(countdown=…)` in "
        "`with retry(max_retries=…):`; up to a day.",
    ),
    answer(LOST, "eta", "None: the policy counts the seconds from the failure."),
    answer(
        CHANGE,
        "args kwargs",
        "`with retry(max_retries=…): current().retry(args=[…], kwargs={…})`: the next attempt has these arguments "
        "([retries](retries.md#other-arguments)).",
    ),
    answer(LOST, "*", "None: a retry has the options of its task."),
)
"""Options of `self.retry`."""
