"""Timelines: the event registers of `sedano.model.registers`, as one groupBy.

`registers` keeps of a task's events the last of each class and the last on each subject, every one the maximum of a
struct that begins with the total order, so Spark compares them as `Stamp` compares; and the time of the first event.
Registers of parts of the history are joined by `merged`, in any grouping and with any overlap; `finalise` reads
state, fields and latencies off. Precedence, classes and subjects come from `sedano.model.states`; tests hold this
module to the pure registers, row for row.

Why a groupBy with filtered maxima and no window: a window sorts whole rows of every event, this only ever holds one
row a task, and the partial aggregate before the shuffle already absorbs most duplicates.
"""

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from glue_jobs.pipeline.schema import ORDER, TASKS, TIMES
from sedano.model.states import (
    CLIENT,
    CUSTOM,
    PRECEDENCE,
    RESET,
    STATE_OF_CLASS,
    SUBJECTS,
    TERMINAL,
    type_of,
)

#: The total order within a task; its last field, the uuid, is the group. What has one type need not repeat it.
_STAMP = ORDER[:-1]
_MARK = _STAMP[:-1]
_TYPES = [type_of(event_class) for event_class in STATE_OF_CLASS]


def registers(events: DataFrame) -> DataFrame:
    """Return the registers of every task in *events* (`schema.LINE`), passing over what is not about tasks."""
    kind = F.col("type")
    about_tasks = kind.startswith(type_of(""))
    last = [_latest(kind == type_of(c), _MARK).alias(c) for c in STATE_OF_CLASS]
    custom = _latest(~kind.isin(_TYPES), _STAMP).alias(CUSTOM)
    said = [_latest(F.col(fields[0]).isNotNull(), (*_STAMP, *fields)).alias(s) for s, fields in SUBJECTS.items()]
    return events.where(about_tasks).groupBy("uuid").agg(F.min("timestamp").alias("first"), *last, custom, *said)


def merged(*parts: DataFrame) -> DataFrame:
    """Return the registers of the history that *parts* (each from `registers`) hold together; parts may overlap."""
    everything = reduce(DataFrame.unionByName, parts)
    largest = [F.max(column).alias(column) for column in (*PRECEDENCE, *SUBJECTS)]
    return everything.groupBy("uuid").agg(F.min("first").alias("first"), *largest)


def finalise(known: DataFrame) -> DataFrame:
    """Read one row a task (`schema.TASKS`) off the registers *known*."""
    last = {c: F.col(c) if c == CUSTOM else _stamped(c) for c in PRECEDENCE}
    rivals = [F.when(last[RESET].isNull() | (last[c] > last[RESET]), last[c]) for c in PRECEDENCE if c != RESET]
    decided = known.withColumn("decisive", F.coalesce(*rivals, last[RESET]))
    stated = decided.withColumn("state", _state(F.col("decisive.type")))
    finished = F.when(F.col("state").isin(*sorted(TERMINAL)), F.col("decisive.timestamp"))
    return stated.select(*_identity(last), *_said(), *_times(finished), *_latencies(finished)).select(TASKS.names)


def timelines(events: DataFrame) -> DataFrame:
    """Return one row a task (`schema.TASKS`) from *events* (`schema.LINE`) in any order, with any duplicates."""
    return events.transform(registers).transform(finalise)


def _latest(condition: Column, fields: tuple[str, ...]) -> Column:
    """Return the register of the events that meet *condition*: *fields* of the one that is last in the total order."""
    return F.max(F.when(condition, F.struct(*fields)))


def _stamped(event_class: str) -> Column:
    """Return the register of *event_class* as a whole stamp, its type put back; null when it is empty."""
    mark = [F.col(event_class)[field].alias(field) for field in _MARK]
    return F.when(F.col(event_class).isNotNull(), F.struct(*mark, F.lit(type_of(event_class)).alias("type")))


def _state(event_type: Column) -> Column:
    """Return the state that an event type stands for: a custom class is its own state in capitals."""
    known = [F.when(event_type == type_of(c), F.lit(state)) for c, state in STATE_OF_CLASS.items()]
    return F.coalesce(*known, F.upper(F.substring(event_type, len(type_of("")) + 1, 2**31 - 1)))


def _identity(last: Mapping[str, Column]) -> list[Column]:
    """Return who the task is: its id and state, the worker that spoke last, the client."""
    workers = F.greatest(*[at for event_class, at in last.items() if event_class != CLIENT])
    return [
        F.col("uuid"),
        F.col("state"),
        workers["hostname"].alias("worker"),
        last[CLIENT]["hostname"].alias("client"),
    ]


def _said() -> list[Column]:
    """Return every field of every subject, null where nothing was said."""
    return [F.col(subject)[field].alias(field) for subject, fields in SUBJECTS.items() for field in fields]


def _times(finished: Column) -> list[Column]:
    """Return the time of the last event of each class, and of the event that ended the task."""
    return [*[F.col(c)["timestamp"].alias(c) for c in TIMES], finished.alias("finished")]


def _latencies(finished: Column) -> list[Column]:
    """Return the waits and runs in seconds, null until both ends are known."""
    sent, started = F.col(CLIENT)["timestamp"], F.col("started.timestamp")
    return [
        _between(sent, started).alias("wait_seconds"),
        F.coalesce(F.col("returned.runtime"), _between(started, finished)).alias("run_seconds"),
        _between(F.col("first"), finished).alias("total_seconds"),
    ]


def _between(begin: Column, end: Column) -> Column:
    """Return the seconds from *begin* to *end*; null unless both are known and time went forward."""
    return F.when(begin <= end, end - begin)
