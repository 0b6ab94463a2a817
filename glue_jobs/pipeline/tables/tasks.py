"""`tasks`: one row per task, according to all of its events. Partitioned by `day`.

State, fields and times are those of `sedano.model.history.registers`; everything else here follows from them.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from glue_jobs.pipeline import timeline
from glue_jobs.pipeline.contract import REAL, TEXT, WHOLE, contract, kept_to
from sedano.model.states import STATE_OF_CLASS

#: How many hex digits of a digest are kept: enough to distinguish all calls of one cluster.
DIGITS: Final = 16

_DAY: Final = "yyyy-MM-dd"
_TENANT: Final = r"(?:^|,)tenant=((?:[A-Za-z0-9_.~\-]|%[0-9A-Fa-f]{2})+)"

SCHEMA: Final = contract(
    uuid=(TEXT, "the task's id"),
    state=(TEXT, "its final state, or the one it is in"),
    name=(TEXT, "the task's name"),
    queue=(TEXT, "the queue it was sent to"),
    tenant=(TEXT, "the tenant that it was published for"),
    stamps=(TEXT, "its stamps and its tenant, as the event says them: a list, or JSON"),
    worker=(TEXT, "the worker that spoke last of it"),
    client=(TEXT, "who published it last"),
    root_id=(TEXT, "the first task of the canvas that it belongs to"),
    parent_id=(TEXT, "the task that published it"),
    retries=(WHOLE, "the retry that was published last"),
    attempts=(WHOLE, "how many attempts began, or 0"),
    args=(TEXT, "positional arguments, as the publisher shows them"),
    kwargs=(TEXT, "keyword arguments, likewise"),
    args_digest=(TEXT, f"the first {DIGITS} hex digits of SHA-256 over args and kwargs"),
    eta=(TEXT, "not before, as the publisher wrote it"),
    expires=(TEXT, "not after, as the publisher wrote it"),
    exchange=(TEXT, "AMQP: the exchange"),
    routing_key=(TEXT, "AMQP: the routing key"),
    runtime=(REAL, "seconds that the worker says it ran"),
    result=(TEXT, "the result, as the worker shows it"),
    exception=(TEXT, "the last exception, as the worker shows it"),
    traceback=(TEXT, "its traceback"),
    **{event_class: (REAL, f"epoch seconds of the last task-{event_class}") for event_class in STATE_OF_CLASS},
    first=(REAL, "epoch seconds of its first event"),
    finished=(REAL, "epoch seconds of the event that ended it"),
    wait_seconds=(REAL, "from the last publication to the start"),
    run_seconds=(REAL, "of the last run"),
    total_seconds=(REAL, "from the first event to the end"),
    day=(TEXT, "the UTC day of its first event"),
)


def tasks(known: DataFrame) -> DataFrame:
    """Return the rows of `SCHEMA` from the registers *known* (`glue_jobs.pipeline.timeline.merged`)."""
    task_rows = timeline.finalise(known, "first")
    derived = {
        "tenant": F.coalesce(F.get_json_object("stamps", "$.tenant"), _listed_tenant()),
        "attempts": F.when(F.coalesce("started", "received").isNull(), 0).otherwise(F.coalesce("retries", F.lit(0)) + 1),
        "args_digest": digest("args", "kwargs"),
        "day": day_of(F.col("first")),
    }
    return kept_to(task_rows.withColumns(derived), SCHEMA)


def _listed_tenant() -> Column:
    """Return the tenant in stamps that are a list (`sedano.model.messages.stamps`)."""
    found = F.regexp_extract("stamps", _TENANT, 1)
    return F.when(F.length(found) > 0, F.url_decode(found))


def digest(*columns: str) -> Column:
    """Return a digest of these texts; null when all of them are."""
    text = F.to_json(F.array(*columns))
    return F.when(F.coalesce(*columns).isNotNull(), F.substring(F.sha2(text, 256), 1, DIGITS))


def day_of(seconds: Column) -> Column:
    """Return the UTC day of an epoch time; a time outside the calendar is on the day 0."""
    sane = F.when(seconds.between(0, 253_402_300_799), seconds).otherwise(0)
    return F.date_format(F.timestamp_seconds(sane), _DAY)
