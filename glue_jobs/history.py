"""The whole history of a cluster as tables, in any order, exactly once: the entry script, for a laptop, Glue and EMR alike.

    python -m sedano history build   --source events/ --target build/history     take in what is new, as one more part
    python -m sedano history compact --target build/history                      merge all parts, write the tables, drop what nobody reads
    python -m sedano history update  --source events/ --target build/history     both, as a schedule does
    python -m sedano history report  --target build/history --out report.html    one page to read, no network needed
    python -m sedano history query   "SELECT state, count(*) FROM tasks GROUP BY state" --target build/history

Source and target are folders of this machine or `s3://bucket/prefix`; the source holds the recorder's files or what `celery events` wrote
as JSON lines. Two runs never harm one another: one works, the other is told so; a run that lost its lease is refused at its commit.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from glue_jobs.pipeline import history as rows
from glue_jobs.pipeline.report.gather import gathered
from glue_jobs.pipeline.report.page import page
from glue_jobs.pipeline.session import must_open, session
from sedano.errors import ConfigurationError, SedanoError
from sedano.history import CONTROL_TABLE, History, Snapshot, editing, landed_at, open_history

#: A source with fewer files is a short job.
SMALL_FILES = 2_000
KEEP_DAYS = 7.0
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")

Told = dict[str, Any]


def build(spark: SparkSession, history: History, options: argparse.Namespace) -> Told:
    """Take in the landed files that the history does not hold yet; with ``--rebuild`` all of them, in place of its parts."""
    with editing(history) as edition:
        landed = {name: mark for name, mark in landed_at(options.source).items() if options.day is None or f"dt={options.day}/" in name}
        taken = {} if options.rebuild else history.taken_in(edition.seen)
        new = {name: mark for name, mark in landed.items() if taken.get(name) != mark}
        if not new:
            return {"version": edition.seen.version, "new_files": 0}
        left = rows.take_in(spark, sorted(new), history.archive.place(edition.prefix))
        told: Told = {"broken_files": left} if left else {}
        if left and options.rebuild:
            first, why = next(iter(left.items()))
            raise ConfigurationError(f"rebuild: {len(left)} files are broken, such as {first} ({why}); put whole copies in their place")
        if left.keys() == new.keys():
            return {"version": edition.seen.version, "new_files": 0, **told}
        made = history.extend(edition, {name: mark for name, mark in new.items() if name not in left}, alone=options.rebuild)
    return {"version": made.version, "new_files": len(new) - len(left), "parts": len(made.parts), **told}


def compact(spark: SparkSession, history: History, options: argparse.Namespace) -> Told:
    """Merge all parts into a base with its tables, then delete what no snapshot of the last ``--keep-days`` names."""
    with editing(history) as edition:
        if edition.seen.pending or not edition.seen.base:
            rows.merge(spark, places(history, edition.seen), history.archive.place(edition.prefix))
            history.settle(edition)
    gone = history.collect(options.keep_days)
    now = history.current()
    return {"version": now.version, "parts": len(now.parts), "deleted": len(gone)}


def update(spark: SparkSession, history: History, options: argparse.Namespace) -> Told:
    """Build, then compact: what a schedule runs."""
    return {**build(spark, history, options), **compact(spark, history, options)}


def report(spark: SparkSession, history: History, options: argparse.Namespace) -> Told:
    """Write the page."""
    told = gathered(tables(spark, history), options.root)
    text = page(told)
    Path(options.out).write_text(text, encoding="utf-8")
    return {"report": str(options.out), "bytes": len(text.encode())}


def query(spark: SparkSession, history: History, options: argparse.Namespace) -> Told:
    """Answer a SELECT over the tables."""
    named = [name for name in rows.SCHEMAS if re.search(rf"\b{name}\b", options.sql, re.IGNORECASE)]
    for name, table in tables(spark, history, named).items():
        table.createOrReplaceTempView(name)
    answer = spark.sql(options.sql)
    return {"columns": answer.columns, "rows": [row.asDict(recursive=True) for row in answer.limit(options.limit).collect()]}


def tables(spark: SparkSession, history: History, names: Iterable[str] = rows.SCHEMAS) -> dict[str, DataFrame]:
    """Return the tables *names* of the snapshot that is current now; it stays what it is while others commit."""
    snapshot = history.current()
    if not snapshot.parts:
        raise ConfigurationError("history: nothing has been taken in yet; run `history build` first")
    return rows.read(spark, places(history, snapshot), names)


def places(history: History, snapshot: Snapshot) -> rows.Places:
    """Return where the rows of *snapshot* lie."""
    at = history.archive.place
    pending = [at(part.prefix) for part in snapshot.pending]
    return rows.Places([at(part.prefix) for part in snapshot.parts], at(snapshot.base) if snapshot.base else None, pending)


VERBS: dict[str, Callable[[SparkSession, History, argparse.Namespace], Told]] = {
    "build": build, "compact": compact, "update": update, "report": report, "query": query,
}  # fmt: skip


def arguments(given: Sequence[str]) -> argparse.Namespace:
    """Read the options; the ones that only Glue knows (``--JOB_NAME`` and the like) are passed over."""
    parser = argparse.ArgumentParser(
        prog="history", description=__doc__, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--verb", choices=VERBS, required=True, help="what to do; also as the first word")
    parser.add_argument("--sql", help="query: a SELECT over " + ", ".join(rows.SCHEMAS) + "; also as the second word")
    parser.add_argument("--target", required=True, help="the history: a folder or s3://bucket/prefix")
    parser.add_argument("--control-table", help="s3: the table that holds the lease (default: SEDANO_CONTROL_TABLE)")
    parser.add_argument("--source", help="build: the landed *.jsonl and *.jsonl.gz files, a folder or s3://bucket/prefix or one file")
    parser.add_argument("--day", help="build: only the files of this day (YYYY-MM-DD), as the recorder files them: a backfill")
    parser.add_argument("--rebuild", action="store_true", help="build: read every landed file anew, in place of what was taken in")
    parser.add_argument("--keep-days", type=float, default=KEEP_DAYS, help="compact: how long readers keep older snapshots (%(default)g)")
    parser.add_argument("--out", default="report.html", help="report: the file to write (default %(default)s)")
    parser.add_argument("--root", help="report: the canvas whose critical path is drawn (default: the longest)")
    parser.add_argument("--limit", type=int, default=1000, help="query: the most rows (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="query: JSON lines in place of a table")
    words = list(takewhile(lambda word: not word.startswith("-"), given))
    named = [part for pair in zip(("--verb", "--sql"), words, strict=False) for part in pair]
    options = parser.parse_known_args([*named, *given[len(words) :]])[0]
    if len(words) > 2:
        parser.error(f"{words[2]!r} is one word too many; quote the SELECT")
    needed = {"build": "source", "update": "source", "query": "sql"}.get(options.verb)
    if needed is not None and not getattr(options, needed):
        parser.error(f"{options.verb} needs {'--source' if needed == 'source' else 'a SELECT'}")
    if options.day is not None and not _DAY.fullmatch(options.day):
        parser.error(f"--day: {options.day!r} is not YYYY-MM-DD")
    if options.day is not None and options.rebuild:
        parser.error("--rebuild reads every landed file; it cannot be kept to one --day")
    return options


def shown(told: Told, as_json: bool) -> str:
    """Return what was done, or what was asked for, as text."""
    if "rows" not in told:
        return json.dumps(told)
    if as_json:
        return "\n".join(json.dumps(row, ensure_ascii=False) for row in told["rows"])
    lines = [told["columns"], *[["" if value is None else str(value) for value in row.values()] for row in told["rows"]]]
    widths = [max(len(line[n]) for line in lines) for n in range(len(told["columns"]))]
    return "\n".join("  ".join(value.ljust(width) for value, width in zip(line, widths, strict=True)).rstrip() for line in lines)


def main(given: Sequence[str]) -> int:
    """Do what was asked for and say what was done."""
    options = arguments(given)
    try:
        if options.control_table:
            os.environ[CONTROL_TABLE] = options.control_table
        history = open_history(options.target)
        small = options.source is None or len(landed_at(options.source)) < SMALL_FILES
        spark = session("sedano history", short=small and "://" not in options.target)
        try:
            must_open(spark, options.target, options.source or "")
            print(shown(VERBS[options.verb](spark, history, options), options.json))
        finally:
            spark.stop()
    except SedanoError as error:
        print(f"history {options.verb}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
