"""The peers: DuckDB and Polars, in their own environment (`.venv-bench`), which make the same rows, and Celery's `State`.

    python peers.py duckdb|polars PLACE SPEC        answers each line on standard input with one JSON line
    python peers.py state PLACE EVENTS              likewise

It does not import sedano, so it runs where sedano is not installed: SPEC, as JSON, has the classes, subjects and precedence. The first
output line, before any input is read, describes a first round: its checksum, or for `State` the number of events that it replays.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

MEMORY = "6GB"
THREADS = os.cpu_count() or 1
#: The events that `State` replays between two reads of the clock, and the seconds between the lines and their next repetition.
CHUNK, SPAN = 5_000, 1e6
_KEY = ("clock", "timestamp", "hostname", "pid")
_TEXTS = ("name", "args", "queue", "exception", "result")
_TIMES = ("sent", "started", "succeeded")
_STATES = ("SUCCESS", "FAILURE", "REVOKED", "RETRY", "STARTED")


def sql(spec: dict[str, Any], place: str) -> str:
    """Return the query: filtered maxima by task, then the state by precedence."""
    key, stamp = f"row({', '.join(_KEY)})", f"row({', '.join((*_KEY, 'type'))})"
    marks = [f"max({key}) filter (type = 'task-{c}') as k_{c}" for c in spec["classes"]]
    subjects = spec["subjects"].items()
    said = [f"max_by(row({', '.join(fields)}), {stamp}) filter ({fields[0]} is not null) as s_{subject}" for subject, fields in subjects]
    inner = f"uuid, min(timestamp) as first, {', '.join([*marks, *said])} from read_parquet('{place}/*/*.parquet') group by uuid"
    after = {c: f"k_{c} is not null and (k_retried is null or k_{c} > k_retried)" for c in spec["classes"]}
    cases = " ".join(f"when {after[c]} then '{spec['states'][c]}'" for c in spec["precedence"] if c in after and c != "retried")
    times = [f"struct_extract(k_{c}, 2) as {c}" for c in spec["classes"]]
    fields = [f"struct_extract(s_{s}, {n + 1}) as {f}" for s, names in spec["subjects"].items() for n, f in enumerate(names)]
    worker = f"greatest({', '.join(f'k_{c}' for c in spec['classes'] if c != 'sent')})"
    outer = f"uuid, case {cases} else 'RETRY' end as state, first, {', '.join([*times, *fields])}, struct_extract({worker}, 3) as worker"
    return f"select {outer} from (select {inner})"  # noqa: S608 - all of it is ours


class DuckDB:
    """DuckDB over the Parquet files, with as much memory and as many threads as Spark has here."""

    def __init__(self, place: str, spec: str) -> None:
        """Open a database in memory."""
        self._connection = importlib.import_module("duckdb").connect()
        self._query = sql(json.loads(spec), place)
        for setting in (f"memory_limit = '{MEMORY}'", f"threads = {THREADS}", "preserve_insertion_order = false"):
            self._connection.execute(f"set {setting}")

    def run(self) -> float:
        """Make all rows, keep them in a table, and return the CPU seconds."""
        began = spent()
        self._connection.execute(f"create or replace temp table tasks as {self._query}")
        return spent() - began

    def told(self) -> list[int]:
        """Return what `benchmarks.pipeline.spark.checksum` does, of a first round."""
        self.run()
        states = [f"count(*) filter (state = '{state}')" for state in _STATES]
        times = [f"coalesce(sum(floor(({name} - 1.79e9) * 1000)), 0)" for name in _TIMES]
        texts = [f"coalesce(sum(length({name})), 0)" for name in _TEXTS]
        columns = ", ".join(["count(*)", *states, *times, *texts])
        row = self._connection.execute(f"select {columns} from tasks").fetchone()  # noqa: S608 - all of it is ours
        return [int(value) for value in row]


class Polars:
    """Polars over the Parquet files: sorted once, then the last of each class."""

    def __init__(self, place: str, spec: str) -> None:
        """Store the specification."""
        self._pl, self._place, self._spec = importlib.import_module("polars"), place, json.loads(spec)
        self._made: Any = None

    def run(self) -> float:
        """Make all rows, keep them, and return the CPU seconds."""
        began, pl, spec = spent(), self._pl, self._spec
        rows = pl.scan_parquet(f"{self._place}/*/*.parquet").sort([*_KEY, "type"]).with_row_index("place")
        is_ = {c: pl.col("type") == f"task-{c}" for c in spec["classes"]}
        marks = [pl.col("place").filter(is_[c]).last().cast(pl.Int64).alias(f"k_{c}") for c in spec["classes"]]
        times = [pl.col("timestamp").filter(is_[c]).last().alias(c) for c in spec["classes"]]
        said = [pl.col(f).filter(pl.col(fields[0]).is_not_null()).last() for fields in spec["subjects"].values() for f in fields]
        worker = pl.col("hostname").filter(~is_["sent"]).last().alias("worker")
        grouped = rows.group_by("uuid").agg(pl.col("timestamp").min().alias("first"), *marks, *times, *said, worker)
        self._made = grouped.with_columns(self._state().alias("state")).drop([f"k_{c}" for c in spec["classes"]]).collect()
        return spent() - began

    def _state(self) -> Any:
        pl = self._pl
        chosen = pl.lit("RETRY")
        for c in reversed([c for c in self._spec["precedence"] if c in self._spec["classes"] and c != "retried"]):
            mark = pl.col(f"k_{c}")
            after = mark.is_not_null() & (pl.col("k_retried").is_null() | (mark > pl.col("k_retried")))
            chosen = pl.when(after).then(pl.lit(self._spec["states"][c])).otherwise(chosen)
        return chosen

    def told(self) -> list[int]:
        """Return what `benchmarks.pipeline.spark.checksum` does, of a first round."""
        self.run()
        pl = self._pl
        states = [(pl.col("state") == state).sum().alias(f"n_{state}") for state in _STATES]
        times = [((pl.col(name) - 1.79e9) * 1000).floor().sum().alias(f"t_{name}") for name in _TIMES]
        texts = [pl.col(name).str.len_chars().sum().alias(f"l_{name}") for name in _TEXTS]
        return [int(value) for value in self._made.select(pl.len(), *states, *times, *texts).row(0)]


class State:
    """Celery's own `State`, fed every event once and in order; reading the lines is not measured.

    It replays as many events as the others, so that it has as many tasks at the end: the events of the lines repeatedly, each time with
    other tasks and later times.
    """

    def __init__(self, place: str, events: str) -> None:
        """Read the lines."""
        (path,) = Path(place).glob("part-*.json")
        self._kind = importlib.import_module("celery.events.state").State
        self._lines = path.read_text().splitlines()
        self._times = -(-int(events) // len(self._lines))
        self._ticks = json.loads(self._lines[-1])["clock"]

    def run(self) -> float:
        """Replay them all into one state, and return the CPU seconds."""
        state, took = self._kind(max_tasks_in_memory=10_000_000), 0.0
        for number in range(self._times):
            for begin in range(0, len(self._lines), CHUNK):
                events = [self._again(line, number) for line in self._lines[begin : begin + CHUNK]]
                began = spent()
                for event in events:
                    state.event(event)
                took += spent() - began
        return took

    def _again(self, line: str, number: int) -> dict[str, Any]:
        event: dict[str, Any] = json.loads(line)
        at = event["timestamp"] + number * SPAN
        told = {"uuid": f"{event['uuid']}-{number}", "clock": event["clock"] + number * self._ticks}
        return {**event, **told, "timestamp": at, "local_received": at}

    def told(self) -> list[int]:
        """Return the number of events that a round replays."""
        return [self._times * len(self._lines)]


def main(peer: str, place: str, what: str) -> None:
    """Describe a first round, then answer each line with the CPU seconds of another round."""
    kinds: dict[str, Any] = {"duckdb": DuckDB, "polars": Polars, "state": State}
    one = kinds[peer](place, what)
    print(json.dumps({"checksum": one.told()}), flush=True)
    for _ in sys.stdin:
        print(json.dumps({"cpu": one.run()}), flush=True)


def spent() -> float:
    """Return the CPU seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main(*sys.argv[1:])
