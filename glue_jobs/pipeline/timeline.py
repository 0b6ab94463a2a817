"""Timelines: the event registers of `sedano.model.history.registers`, as one groupBy.

`registers` keeps of a task's events the last of each class and the last on each subject, every one the maximum of a
struct that begins with the total order, so Spark compares them as `Stamp` compares; and the time of the first event.
Registers of parts of the history are joined by `merged`, in any grouping and with any overlap; `finalise` reads
state, fields and latencies from them. Precedence, classes and subjects come from `sedano.model.states`; tests hold this
module to the pure registers, row for row.

It is a groupBy with filtered maxima, not a window: a window sorts whole rows of every event and holds all rows of a task, this holds one
row.

Two things make it cheap. Spark copies every register of a task at every event of it, and copies a struct field by field when an expression
of the aggregate made it, but as one run of bytes when it arrived as a column: so the structs are made first. And events are shuffled, not
registers: the registers of a task have about as many bytes as its events, and making them before the shuffle costs another sort.
"""

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F

from glue_jobs.pipeline.schema import ORDER, TASKS, TIMES
from sedano.model.states import (
    CLIENT,
    CUSTOM,
    HELD_PRECEDENCE,
    HOLDING,
    PRECEDENCE,
    RESET,
    STATE_OF_CLASS,
    SUBJECTS,
    TERMINAL,
    type_of,
)

#: The total order within one task: the group has the uuid, and what is all of one class has the type.
_MARK = tuple(field for field in ORDER if field not in {"type", "uuid"})
_STAMP = (*_MARK, "type")
_TYPES = [type_of(event_class) for event_class in STATE_OF_CLASS]


def registers(events: DataFrame) -> DataFrame:
    """Return the registers of every task in *events* (`schema.LINE`), ignoring events that are not about tasks."""
    kind = F.col("type")
    custom = F.when(~kind.isin(_TYPES), F.struct(*_STAMP)).alias(CUSTOM)
    said = [F.when(F.col(fields[0]).isNotNull(), F.struct(*_STAMP, *fields)).alias(s) for s, fields in SUBJECTS.items()]
    made = events.where(kind.startswith(type_of(""))).select("uuid", "type", F.struct(*_MARK).alias("mark"), custom, *said)
    last = [F.max(F.when(kind == type_of(c), F.col("mark"))).alias(c) for c in STATE_OF_CLASS]
    return _by_task(made).agg(F.min("mark.timestamp").alias("first"), *last, *_largest(CUSTOM, *SUBJECTS))


def merged(*parts: DataFrame) -> DataFrame:
    """Return the registers of the history that *parts* (each from `registers`) hold together; parts may overlap."""
    everything = reduce(DataFrame.unionByName, parts)
    return _by_task(everything).agg(F.min("first").alias("first"), *_largest(*PRECEDENCE, *SUBJECTS))


def finalise(known: DataFrame, *more: str) -> DataFrame:
    """Return one row per task (`schema.TASKS`) from the registers *known*, with *more* of their columns."""
    held = F.coalesce(F.col(CUSTOM)["type"] == HOLDING, F.lit(False))
    orders = [(held, HELD_PRECEDENCE), (~held, PRECEDENCE)]
    rivals = [F.when(which & _of_last_attempt(c), F.lit(c)) for which, order in orders for c in order if c != RESET]
    decided = known.withColumn("decisive", F.coalesce(*rivals, F.lit(RESET)))
    stated = decided.withColumn("state", _by_decisive({c: _state(c) for c in PRECEDENCE}))
    ends = _by_decisive({c: F.col(c)["timestamp"] for c in PRECEDENCE})
    timed = stated.withColumn("finished", F.when(F.col("state").isin(*sorted(TERMINAL)), ends))
    read = timed.select("uuid", "state", "finished", *more, *_actors(), *_said(), *_times(), *_latencies())
    return read.select(*TASKS.names, *more)


def timelines(events: DataFrame) -> DataFrame:
    """Return one row per task (`schema.TASKS`) from *events* (`schema.LINE`) in any order, with any duplicates."""
    return events.transform(registers).transform(finalise)


def _by_task(rows: DataFrame) -> GroupedData:
    """Bring the *rows* of each task together and group them; nothing is aggregated before they meet."""
    return rows.repartition("uuid").groupBy("uuid")


def _largest(*columns: str) -> list[Column]:
    """Return the maximum of each of *columns*, which begin with the total order."""
    return [F.max(column).alias(column) for column in columns]


def _mark(event_class: str) -> Column:
    """Return the register of *event_class* without the type; null when it is empty."""
    mark = F.struct(*[F.col(event_class)[field].alias(field) for field in _MARK])
    return F.when(F.col(event_class).isNotNull(), mark) if event_class == CUSTOM else F.col(event_class)


def _of_last_attempt(event_class: str) -> Column:
    """Return whether the register of *event_class* is later than the retry that opened the last attempt, if any.

    Two events of one process at one time differ in the type alone, so their types decide.
    """
    here, reset = _mark(event_class), F.col(RESET)
    its_type = F.col(CUSTOM)["type"] if event_class == CUSTOM else F.lit(type_of(event_class))
    later = (here > reset) | ((here == reset) & (its_type > type_of(RESET)))
    return F.col(event_class).isNotNull() & (reset.isNull() | later)


def _state(event_class: str) -> Column:
    """Return the state that *event_class* reports: a custom class is its own state in capitals."""
    own = F.upper(F.substring(F.col(CUSTOM)["type"], len(type_of("")) + 1, 2**31 - 1))
    return own if event_class == CUSTOM else F.lit(STATE_OF_CLASS[event_class])


def _by_decisive(values: Mapping[str, Column]) -> Column:
    """Return the one of *values* that belongs to the event class which decides the state."""
    return F.coalesce(*[F.when(F.col("decisive") == event_class, value) for event_class, value in values.items()])


def _actors() -> list[Column]:
    """Return the worker that spoke last and the client that published last."""
    marks = [_mark(event_class) for event_class in PRECEDENCE if event_class != CLIENT]
    return [F.greatest(*marks)["hostname"].alias("worker"), F.col(CLIENT)["hostname"].alias("client")]


def _said() -> list[Column]:
    """Return every field of every subject, null where nothing was said."""
    return [F.col(subject)[field].alias(field) for subject, fields in SUBJECTS.items() for field in fields]


def _times() -> list[Column]:
    """Return the time of the last event of each class."""
    return [F.col(event_class)["timestamp"].alias(event_class) for event_class in TIMES]


def _latencies() -> list[Column]:
    """Return the waits and runs in seconds, null until both ends are known."""
    sent, started, finished = F.col(CLIENT)["timestamp"], F.col("started")["timestamp"], F.col("finished")
    return [
        _between(sent, started).alias("wait_seconds"),
        F.coalesce(F.col("returned")["runtime"], _between(started, finished)).alias("run_seconds"),
        _between(F.col("first"), finished).alias("total_seconds"),
    ]


def _between(begin: Column, end: Column) -> Column:
    """Return the seconds from *begin* to *end*; null unless both are known and time went forward."""
    return F.when(begin <= end, end - begin)
