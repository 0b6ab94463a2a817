"""The contract: every column that the jobs read and write, with its unit.

Times are seconds since 1970 (UTC) as floating point numbers, as Celery writes them. A field that a line lacks is
null; a field that is not listed here is kept as text in `EXTRA`. Fields for the order of events and for the statements of an event on a
subject are listed by `sedano.model`; only their types are here.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from pyspark.sql.types import ArrayType, BooleanType, DataType, DoubleType, LongType, MapType, StringType, StructField, StructType

from sedano.model.history.event_order import Stamp
from sedano.model.states import STATE_OF_CLASS, SUBJECTS

_TEXT, _WHOLE, _REAL, _FLAG = StringType(), LongType(), DoubleType(), BooleanType()
_COUNTS = MapType(_TEXT, _WHOLE)

#: The fields that place an event in the total order and identify it.
ORDER: Final = Stamp._fields
#: The fields that every line needs, and those that a line about a task needs besides.
NEEDED: Final = ("type", "timestamp")
NEEDED_OF_TASKS: Final = tuple(field for field in ORDER if field not in NEEDED)
#: The fields of the subjects of a task.
SAID: Final = tuple(field for fields in SUBJECTS.values() for field in fields)
#: The times of the last event of each class.
TIMES: Final = tuple(STATE_OF_CLASS)

_TYPES: Final[Mapping[str, DataType]] = {
    **dict.fromkeys(("clock", "pid", "retries"), _WHOLE),
    **dict.fromkeys(("timestamp", "runtime"), _REAL),
}


def _columns(names: Iterable[str], types: Mapping[str, DataType]) -> list[StructField]:
    """Return a column for each of *names*: of the type given, else text."""
    return [StructField(name, types.get(name, _TEXT)) for name in names]


def _table(**types: DataType) -> StructType:
    """Return a schema of these columns, in this order."""
    return StructType(_columns(types, types))


#: The types of the lines in which functions report their invocations; each begins with the function.
WORKED: Final = "worker-invocation"
INVOCATION_TYPES: Final = (WORKED, "router-invocation", "recorder-invocation")

#: Their fields: how many invocations since the line before (one, if the field is missing), messages of their batches, AWS calls by
#: ``service.Operation``, milliseconds at work, MB of memory, and whether the environment was new.
INVOKED: Final = _table(invocations=_WHOLE, messages=_WHOLE, calls=_COUNTS, duration_ms=_REAL, memory_mb=_WHOLE, cold=_FLAG)

#: The fields of a heartbeat, sedano's and Celery's: seconds until the next, running and finished tasks, the load, and the program.
BEAT: Final = _table(
    freq=_REAL, active=_WHOLE, processed=_WHOLE, loadavg=ArrayType(_REAL), sw_ident=_TEXT, sw_ver=_TEXT, sw_sys=_TEXT, told_by=_TEXT,
)  # fmt: skip

#: The further fields of Celery's lines: the sender's hours west of UTC, when the monitor received the line, and why a task was revoked.
FOREIGN: Final = _table(utcoffset=_REAL, local_received=_REAL, terminated=_FLAG, signum=_TEXT, expired=_FLAG)

#: One line of the history.
LINE: Final = StructType([*_columns((*ORDER, *SAID), _TYPES), *INVOKED.fields, *BEAT.fields, *FOREIGN.fields])

_COUNT: Final = (0, 2**31 - 1)
#: The least and the largest value of a number in a computation: a value beyond is neither a time nor a count, and one line of
#: it would end every run over the history in an overflow. Times end with the year 9999, a run and an invocation after 31 years.
LIMITS: Final[Mapping[str, tuple[float, float]]] = {
    **dict.fromkeys(("timestamp", "local_received"), (0, 253_402_300_799)),
    "runtime": (0, 1e9), "duration_ms": (0, 1e12), "memory_mb": (0, 1_000_000),
    **dict.fromkeys(("retries", "invocations", "messages"), _COUNT),
}  # fmt: skip
#: Likewise of each number among the counts of AWS calls.
CALLS_LIMIT: Final = _COUNT

#: The column that keeps the fields of a line that `LINE` does not list, by name; null when there are none.
EXTRA: Final = "extra"

#: A line that could not be used: why, from which file, and its text.
QUARANTINE: Final = _table(reason=_TEXT, source=_TEXT, text=_TEXT)

#: Every line as it was landed: what is wrong with it, its file, and its text; null in a good one.
LANDED: Final = StructType([*LINE.fields, *_table(extra=MapType(_TEXT, _TEXT), fault=_TEXT, source=_TEXT, text=_TEXT).fields])

#: One row per task. The latencies: from the last publication to the start, of the run, from the first event to the end.
TASKS: Final = StructType(
    [
        *_columns(("uuid", "state", "worker", "client"), {}),
        *_columns(SAID, _TYPES),
        *_columns((*TIMES, "finished"), dict.fromkeys((*TIMES, "finished"), _REAL)),
        *_table(wait_seconds=_REAL, run_seconds=_REAL, total_seconds=_REAL).fields,
    ]
)

#: The latencies of `TASKS` by task name: how many tasks, and for each latency the percentiles and the largest.
LATENCY: Final = _table(
    name=_TEXT,
    tasks=_WHOLE,
    **{
        f"{latency}_{figure}": _REAL
        for latency in ("wait_seconds", "run_seconds", "total_seconds")
        for figure in ("p50", "p90", "p99", "max")
    },
)

#: Invocations of each process of a function (worker, router, recorder), with the messages they were given and the time they took.
WORKERS: Final = _table(function=_TEXT, hostname=_TEXT, invocations=_WHOLE, cold=_WHOLE, messages=_WHOLE, duration_ms=_REAL)

#: AWS calls of each of them.
CALLS: Final = _table(function=_TEXT, hostname=_TEXT, call=_TEXT, calls=_WHOLE)

#: How many events of each type there are, and on how many lines they were delivered.
LINES: Final = _table(type=_TEXT, events=_WHOLE, lines=_WHOLE)

#: Tasks published, started and finished in the interval that begins at `second`.
THROUGHPUT: Final = _table(second=_WHOLE, sent=_WHOLE, started=_WHOLE, finished=_WHOLE)

#: The state of a task in the ledger.
LEDGER: Final = _table(uuid=_TEXT, state=_TEXT)
