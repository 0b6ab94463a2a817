"""The entry script for a laptop, Glue and EMR: the whole history of a cluster as tables, each event once, in any order of arrival.

    python -m sedano history build   --source events/ --target build/history     add the new files, as one more part
    python -m sedano history compact --target build/history                      merge all parts, write the tables, drop unused files
    python -m sedano history update  --source events/ --target build/history     both, as a schedule does
    python -m sedano history report  --target build/history --out report.html    one page to read, no network needed
    python -m sedano history query   "SELECT state, count(*) FROM tasks GROUP BY state" --target build/history

Source and target are folders of this machine or `s3://bucket/prefix`; the source has the recorder's files, or the output of `celery events`
as JSON lines. Two runs do not harm one another: one works, the other gets an error that says so. The commit of a run that lost its lease is
refused.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from glue_jobs.pipeline import history as rows
from glue_jobs.pipeline.answer import answered, must_be_question
from glue_jobs.pipeline.options import days, how_many, read
from glue_jobs.pipeline.report.figures import Figures, Threshold, figures, judged, read_back, threshold, verdict
from glue_jobs.pipeline.report.gather import gathered
from glue_jobs.pipeline.report.page import page
from glue_jobs.pipeline.session import must_open, session
from sedano.errors import ConfigurationError, FencedOff, LeaseTaken, OptionError, SedanoError
from sedano.history import CONTROL_TABLE, LEASE_MS, History, Snapshot, editing, landed_at, open_history

#: A source with fewer files is a short job.
SMALL_FILES = 2_000
KEEP_DAYS = 7.0
#: The exit code if a report is written and exceeds a threshold.
EXCEEDED = 6
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")

USAGE = 'history build|compact|update|report|query ["SELECT …"] --target PLACE [options]; --help lists them'

Answer = dict[str, Any]
Landed = Mapping[str, str]
"""The mark of each landed file, by its address."""


class Standard(NamedTuple):
    """The *thresholds* of a report, and the figures of the older report that it is compared with, *before*."""

    before: Figures | None = None
    thresholds: Sequence[Threshold] = ()


UNJUDGED: Final = Standard()


class Seen(NamedTuple):
    """The results of the checks before Spark starts: the files that *landed* at the source, and the *standard* of a report."""

    landed: Landed
    standard: Standard


def build(spark: SparkSession, history: History, options: argparse.Namespace, listed: Landed | None = None) -> Answer:
    """Add the landed files that are not yet in the history; with ``--rebuild``, read all of them and replace its parts.

    *listed*: the files at the source, if they are known; files that land later are for the next run.
    """
    with editing(history) as edition:
        landed = on_day(landed_at(options.source) if listed is None else listed, options.day)
        taken = {} if options.rebuild else history.taken_in(edition.seen)
        new = {name: mark for name, mark in landed.items() if taken.get(name) != mark}
        if not new:
            return {"version": edition.seen.version, "new_files": 0}
        left, quarantined = rows.take_in(spark, sorted(new), history.archive.place(edition.prefix))
        again = new.keys() & taken.keys() - left.keys()
        rare = {"broken_files": left, "read_again": len(again)}
        answer: Answer = {"quarantined": quarantined, **{name: value for name, value in rare.items() if value}}
        if left and options.rebuild:
            first, why = next(iter(left.items()))
            raise ConfigurationError(f"rebuild: {len(left)} files are broken, such as {first} ({why}); replace them by complete copies")
        if left.keys() == new.keys():
            return {"version": edition.seen.version, "new_files": 0, **answer}
        made = history.extend(edition, {name: mark for name, mark in new.items() if name not in left}, alone=options.rebuild)
    return {"version": made.version, "new_files": len(new) - len(left), "parts": len(made.parts), **answer}


def on_day(landed: Landed, day: str | None) -> dict[str, str]:
    """Return those of the *landed* files that the recorder filed under *day*; all of them without one."""
    return {name: mark for name, mark in landed.items() if day is None or f"dt={day}/" in name}


def compact(spark: SparkSession, history: History, options: argparse.Namespace) -> Answer:
    """Merge all parts into a base with its tables, then delete the files that no snapshot of the last ``--keep-days`` names."""
    must_hold_something(history)
    with editing(history) as edition:
        if edition.seen.pending or not edition.seen.base:
            rows.merge(spark, places(history, edition.seen), history.archive.place(edition.prefix))
            history.settle(edition)
    gone = history.collect(options.keep_days)
    now = history.current()
    return {"version": now.version, "parts": len(now.parts), "deleted": len(gone)}


def update(spark: SparkSession, history: History, options: argparse.Namespace, listed: Landed | None = None) -> Answer:
    """Build, then compact, as a schedule does; also before any file has landed."""
    built = build(spark, history, options, listed)
    return {**built, **compact(spark, history, options)} if history.current().parts else built


def report(spark: SparkSession, history: History, options: argparse.Namespace, standard: Standard = UNJUDGED) -> Answer:
    """Write the page."""
    content = gathered(tables(spark, history), options.root)
    found = judged(figures(content), standard.thresholds)
    text = page(content, found, standard.before)
    Path(options.out).write_text(text, encoding="utf-8")
    exceeded = [one.threshold.text for one in found if one.exceeded]
    judgement = {"verdict": verdict(found), "exceeded": exceeded} if found else {}
    return {"report": str(options.out), "bytes": len(text.encode()), "figures": figures(content), **judgement}


def asked_standard(options: argparse.Namespace) -> Standard:
    """Return the thresholds and the older report that the *options* name.

    Raises:
        OptionError: a threshold is not a comparison; or the older report cannot be read, or has no figures.
    """
    thresholds = [threshold(text) for text in options.fail_on]
    if options.diff is None:
        return Standard(thresholds=thresholds)
    try:
        return Standard(read_back(Path(options.diff).read_text(encoding="utf-8"), options.diff), thresholds)
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"--diff: {options.diff} cannot be read: {error}") from None


def query(spark: SparkSession, history: History, options: argparse.Namespace) -> Answer:
    """Answer a SELECT over the tables.

    Raises:
        OptionError: the statement cannot be answered.
    """
    named = [name for name in rows.SCHEMAS if re.search(rf"\b{name}\b", options.sql, re.IGNORECASE)]
    for name, table in tables(spark, history, named).items():
        table.createOrReplaceTempView(name)
    try:
        columns, found, more = answered(spark, options.sql, options.limit)
    except OptionError as wrong:
        raise OptionError(f"{wrong}. There are the tables {', '.join(rows.SCHEMAS)}; DESCRIBE one for its columns") from None
    if more:
        note(options, f"there are more rows than these {options.limit}; --limit shows more")
    return {"columns": columns, "rows": found}


def tables(spark: SparkSession, history: History, names: Iterable[str] = rows.SCHEMAS) -> dict[str, DataFrame]:
    """Return the tables *names* of the snapshot that is current now; it does not change while other runs commit."""
    snapshot = must_hold_something(history)
    return rows.read(spark, places(history, snapshot), names)


def must_hold_something(history: History) -> Snapshot:
    """Return the snapshot that is current now.

    Raises:
        ConfigurationError: the history is empty.
    """
    snapshot = history.current()
    if not snapshot.parts:
        raise ConfigurationError(f"nothing has been taken in yet at {history.archive.place('')}; run `sedano history build` first")
    return snapshot


def places(history: History, snapshot: Snapshot) -> rows.Places:
    """Return the addresses of the rows of *snapshot*."""
    at = history.archive.place
    pending = [at(part.prefix) for part in snapshot.pending]
    return rows.Places([at(part.prefix) for part in snapshot.parts], at(snapshot.base) if snapshot.base else None, pending)


VERBS: dict[str, Callable[[SparkSession, History, argparse.Namespace, Seen], Answer]] = {
    "build": lambda spark, history, options, seen: build(spark, history, options, seen.landed),
    "compact": lambda spark, history, options, _: compact(spark, history, options),
    "update": lambda spark, history, options, seen: update(spark, history, options, seen.landed),
    "report": lambda spark, history, options, seen: report(spark, history, options, seen.standard),
    "query": lambda spark, history, options, _: query(spark, history, options),
}


def arguments(given: Sequence[str]) -> argparse.Namespace:
    """Read the options; options that only Glue uses (``--JOB_NAME`` and the like) are ignored."""
    parser = argparse.ArgumentParser(
        prog="history", usage=USAGE, description=__doc__, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--verb", choices=VERBS, required=True, help="what to do; also as the first word")
    parser.add_argument("--sql", help="query: a SELECT over " + ", ".join(rows.SCHEMAS) + "; also as the second word")
    parser.add_argument("--target", required=True, help="the history: a folder or s3://bucket/prefix")
    parser.add_argument("--control-table", help="s3: the table that holds the lease (default: SEDANO_CONTROL_TABLE)")
    parser.add_argument("--source", help="build: the landed *.jsonl and *.jsonl.gz files, a folder or s3://bucket/prefix or one file")
    parser.add_argument("--day", help="build: only the files of this day (YYYY-MM-DD), as the recorder files them: a backfill")
    parser.add_argument("--rebuild", action="store_true", help="build: read every landed file again, and replace the existing parts")
    parser.add_argument("--keep-days", type=days, default=KEEP_DAYS, help="compact: how long readers keep older snapshots (%(default)g)")
    parser.add_argument("--out", default="report.html", help="report: the file to write (default %(default)s)")
    parser.add_argument("--root", help="report: the canvas whose critical path is drawn (default: the longest)")
    parser.add_argument("--fail-on", action="append", default=[], help="report: a threshold such as failed>1%% or wait_p95>30s; repeatable")
    parser.add_argument("--diff", help="report: an older page, which this one is compared with")
    parser.add_argument("--limit", type=how_many, default=1000, help="query: the most rows (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="query: JSON lines in place of a table")
    words = list(takewhile(lambda word: not word.startswith("-"), given))
    named = [part for pair in zip(("--verb", "--sql"), words, strict=False) for part in pair]
    options = read(parser, [*named, *given[len(words) :]])
    if len(words) > 2:
        parser.error(f"{words[2]!r} is one word too many; quote the SELECT")
    fit(parser, options)
    return options


def fit(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """End the script when the *options* of a verb do not fit together."""
    needed = {"build": "source", "update": "source", "query": "sql"}.get(options.verb)
    if needed is not None and not getattr(options, needed):
        parser.error(f"{options.verb} needs {'--source' if needed == 'source' else 'a SELECT'}")
    if options.day is not None and not _DAY.fullmatch(options.day):
        parser.error(f"--day: {options.day!r} is not YYYY-MM-DD")
    if options.day is not None and options.rebuild:
        parser.error("--rebuild reads every landed file; it cannot be kept to one --day")


def shown(answer: Answer, as_json: bool) -> str:
    """Return the report of the run, or the answer, as text."""
    if "rows" not in answer:
        return json.dumps(answer)
    if as_json:
        if len(set(answer["columns"])) < len(answer["columns"]):
            raise OptionError("two columns have the same name, which JSON does not allow; rename one with AS")
        named = [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]
        return "\n".join(json.dumps(row, ensure_ascii=False, default=str) for row in named)
    lines = [answer["columns"], *[["" if value is None else str(value) for value in row] for row in answer["rows"]]]
    widths = [max(len(line[n]) for line in lines) for n in range(len(answer["columns"]))]
    return "\n".join("  ".join(value.ljust(width) for value, width in zip(line, widths, strict=True)).rstrip() for line in lines)


def note(options: argparse.Namespace, words: str) -> None:
    """Print a note about the answer on stderr."""
    print(f"history {options.verb}: {words}", file=sys.stderr)


def must_be_doable(history: History, options: argparse.Namespace) -> Standard:
    """Check, before Spark starts, everything that needs no Spark; return the standard of a report.

    Raises:
        ConfigurationError, OptionError: the verb cannot run; the message says what to do.
    """
    out = Path(options.out)
    if options.verb == "query":
        must_be_question(options.sql)
    if options.verb == "report" and (out.is_dir() or not out.absolute().parent.is_dir()):
        raise OptionError(f"--out: {out} {'is a folder' if out.is_dir() else 'is not in an existing folder'}; name a file to write")
    standard = asked_standard(options) if options.verb == "report" else UNJUDGED
    if options.verb in {"compact", "report", "query"}:
        must_hold_something(history)
    return standard


def look(history: History, options: argparse.Namespace) -> Seen:
    """Check that all can be done (`must_be_doable`), then list the source; write a note if it lacks the files that were asked for."""
    standard = must_be_doable(history, options)
    landed = landed_at(options.source) if options.source else {}
    if options.source and not landed:
        note(options, f"no *.jsonl and no *.jsonl.gz file is below {options.source}")
    elif options.day and not on_day(landed, options.day):
        note(options, f"no landed file is in a folder dt={options.day}/ below {options.source}")
    return Seen(landed, standard)


def worked(history: History, options: argparse.Namespace) -> Answer:
    """Run the verb, in a session of its own."""
    seen = look(history, options)
    spark = session("sedano history", short=len(seen.landed) < SMALL_FILES and "://" not in options.target)
    try:
        return done(spark, history, options, seen)
    finally:
        spark.stop()


def done(spark: SparkSession, history: History, options: argparse.Namespace, seen: Seen) -> Answer:
    """Run the verb with the results of the checks, *seen*: the source may be long, and a file may have changed since."""
    must_open(spark, options.target, options.source or "")
    return VERBS[options.verb](spark, history, options, seen)


def excuse(error: SedanoError | OSError) -> str:
    """Return why nothing was done, and the remedy."""
    if isinstance(error, LeaseTaken):
        return f"{error.owner} is at work on this history; if it has died, its lease is over after {LEASE_MS // 60_000} minutes at most"
    if isinstance(error, FencedOff):
        return "a later run began meanwhile, so nothing was committed; run it again"
    return str(error).removeprefix("history: ")


def main(given: Sequence[str]) -> int:
    """Run the verb, and print its result."""
    options = arguments(given)
    try:
        if options.control_table:
            os.environ[CONTROL_TABLE] = options.control_table
        answer = worked(open_history(options.target), options)
        print(shown(answer, options.json))
    except (SedanoError, OSError) as error:
        note(options, excuse(error))
        return 1
    return EXCEEDED if answer.get("exceeded") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
