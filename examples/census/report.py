"""The report of a run: its measurements, its faults and their effects, and its cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from examples.census.facts import Facts
from examples.census.flow_report import flow
from examples.census.page import bars, document, duration, path, section, table, text, tiles
from examples.census.timeline import timeline

ABSORBED = {
    "window": "the worker had just received the same message: discarded, without a call",
    "acknowledge": "another message had already ended or claimed its task: only acknowledged",
    "follow again": "this message had already ended its task: its follow-ups were sent again under the same ids",
    "retry again": "this message had already recorded a retry: the retry was sent again",
    "wait": "its task was running elsewhere: it was received again when that claim had ended",
    "record": "the ledger refused its outcome, because the task had one already",
}
ROWS = "Each row is a worker process; each mark in it is the body of a task that the process reported."
GAP = " The messages of a killed worker become visible again 36 seconds after they were received, which causes the gap."
LATENCIES = ("wait_seconds", "run_seconds")


def page(facts: Facts) -> str:
    """Return the report as one HTML page."""
    return document("sedano census", [_head(facts), *_story(facts), *_measured(facts), *_costs(facts), _foot(facts)])


def _head(facts: Facts) -> str:
    known = facts.summary
    verdict = '<p class="verdict good">Nothing was lost and nothing happened twice.</p>'
    if facts.complaints:
        listed = "".join(f"<li>{text(complaint)}</li>" for complaint in facts.complaints)
        verdict = f'<p class="verdict bad">Something is wrong:</p><ul class="bad">{listed}</ul>'
    title = f"{known.files} files, {known.tasks} tasks, {known.effects} effects"
    figures = [
        ("files counted", known.files, ""), ("tasks", known.tasks, ""), ("messages delivered twice", known.duplicates_injected, ""),
        ("ended in Lambda", known.served_by_lambda, ""), ("ended in processes", known.served_by_processes, ""),
        ("functions killed at work", known.kills, ""), ("processes killed at work", known.process_kills, ""),
        ("lost", known.lost, "bad" if known.lost else "good"),
        ("effects doubled", known.double_effects, "bad" if known.double_effects else "good"),
        ("seconds in all", f"{known.seconds:.0f}", ""),
    ]  # fmt: skip
    told = (
        f"A census of the Python sources in {facts.material.directory}: one chord, one task a file, {facts.large} of the texts over "
        "60 KB and sent by claim check. Every file also announced an event, to which two tasks subscribe: one of Lambda's, and one whose "
        "queue processes of `sedano worker` serve. While it ran, messages were delivered a second time, and functions and processes were "
        "killed in the middle of their work."
    )
    return f'<h1>{text(title)}</h1>{verdict}<p class="soft">{text(told)}</p>{tiles(figures)}'


def _story(facts: Facts) -> Iterator[str]:
    yield section("Timeline", ROWS + (GAP if facts.stolen else ""), timeline(facts))
    queues = facts.material.queues
    sent = [(f"a message of the {queues[url]} queue was sent again", len(t)) for url, t in facts.material.done.duplicates.items()]
    cut = facts.material.done
    done = [
        *sent, ("a function was killed in the middle of an invocation", sum(kill.hit for kill in cut.kills)),
        ("a process of `sedano worker` was killed while it held tasks, and replaced", len(cut.process_kills)),
    ]  # fmt: skip
    became = [(words, facts.absorbed[how]) for how, words in ABSORBED.items() if facts.absorbed.get(how)]
    became += [("a claim whose holder had died was taken over, under a higher fencing token", facts.stolen)] if facts.stolen else []
    became += [("a late outcome was refused by the ledger", facts.refused)] if facts.refused else []
    yield section(
        "Faults and their effects",
        "A doubled event makes two doubled commands, and messages of a killed worker are delivered again, so more was absorbed than sent.",
        table(["done#", "what"], [(text(count), text(words)) for words, count in done if count]),
        table(["told#", "what became of it"], [(text(count), text(words)) for words, count in became]),
    )
    yield flow(facts)
    yield section("How it was checked", "Each figure is from an independent source.", _checks(facts))


def _checks(facts: Facts) -> str:
    known, evidence = facts.summary, facts.material.evidence
    right = {True: '<span class="good">✓</span>', False: '<span class="bad">✗</span>'}
    rows = [
        (not known.lost, f"{known.tasks} tasks must exist, and each has an end", "derived ids; a scan of the ledger; every queue empty"),
        (not known.double_effects, f"{known.effects} ends, one a task", "the ledger table's own change log; clocks in the event history"),
        (known.chord_body_runs == 1, "the chord's body was recorded once", "the change log"),
        (known.events_delivered == known.files, f"{known.events_delivered} events reached both subscribers", "a scan of the ledger"),
        (evidence.totals == facts.material.expected.totals, "the census has the totals of the files", "the files, counted by the demo"),
        (not known.spark_mismatches, f"{known.spark_tasks} timelines end as in the ledger", "Spark over the event history in S3"),
        (facts.flow.too_many <= 0, "no period had more calls than its rate allows", "the service that was called"),
        (facts.flow.trips and not facts.flow.unspared, "an open circuit let no call pass", "the service that was down; the event history"),
        (not facts.flow.unstored, f"{facts.material.flow.stores} items arrived there", "the service that was down"),
        (
            known.kills >= facts.material.expected.kills,
            f"{known.kills} kills cut invocations short",
            "the change log: claims left, then taken over",
        ),
        (
            known.process_kills >= facts.material.expected.process_kills,
            f"{known.process_kills} killed processes left tasks behind, which others ended",
            "the change log: claims under their names, then taken over",
        ),
        (
            not facts.found.strayed,
            f"{known.served_by_processes} tasks of one queue ended in processes, and {known.served_by_lambda} of the others in Lambda",
            "the change log: the name of the worker in each end",
        ),
    ]
    return table(["", "what holds", "according to"], [(right[bool(holds)], text(what), text(source)) for holds, what, source in rows])


def _measured(facts: Facts) -> Iterator[str]:
    census = facts.material.census
    if not census:
        return
    note = f"{census['lines']:,} lines and {census['functions']:,} functions in {census['files']:,} files. The largest:"
    largest = [(path(f["path"]), text(f["lines"]), text(f["functions"])) for f in census["largest"]]
    yield section("The census", note, table(["file", "lines#", "functions#"], largest))
    imports = [(name, count, f"{count} files") for name, count in census["imports"]]
    longest = [(f"{f['name']} in {f['path'].rpartition('/')[2]}", f["lines"], f"{f['lines']} lines") for f in census["longest"]]
    yield (
        f'<div class="two">{section("Commonest imports", "The number of files that import each package.", bars(imports))}'
        f"{section('Longest functions', 'From the first line of the def to its last.', bars(longest))}</div>"
    )
    if census["errors"]:
        errors = [(path(e["path"]), text(e["error"])) for e in census["errors"]]
        yield section("What could not be measured", "Findings, not failures: these tasks succeeded.", table(["file", "why"], errors))


def _costs(facts: Facts) -> Iterator[str]:
    waits = "Waiting is the time from publication to start; all tasks of the chord are published at once and run on two cores."
    yield section("Latencies by task", f"{waits} Computed by Spark.", _latencies(facts.material.spark["latency_by_task"]))
    tasks = max(1, facts.summary.served_by_lambda)
    calls = sorted(facts.material.spark["calls"].items(), key=lambda call: -call[1])
    note = f"{facts.summary.aws_calls_per_task} calls by all functions for each task of Lambda, in tens, including claim and record."
    made = section("AWS calls", note, table(["call", "calls#", "a task#"], [(_code(c), text(n), f"{n / tasks:.2f}") for c, n in calls]))
    price = f"${facts.dollars_a_million:.2f} a million tasks at list prices (us-east-1): all functions, with this machine's run times."
    lines = [(text(i.name), text(round(i.amount)), f"{1e6 * i.dollars / tasks:.3f}") for i in facts.bill]
    bill = section("Dollars", price, table(["", "amount#", "$ a million tasks#"], lines))
    yield f'<div class="two">{made}{bill}</div>'


def _latencies(rows: list[Mapping[str, Any]]) -> str:
    columns = ["task", "tasks#", *(f"{kind} {figure}#" for kind in ("waits", "runs") for figure in ("median", "p90", "longest"))]
    keys = [f"{latency}_{figure}" for latency in LATENCIES for figure in ("p50", "p90", "max")]
    shown = [(_code(row["name"].rpartition(".")[2]), text(row["tasks"]), *(duration(row[key]) for key in keys)) for row in rows]
    return table(columns, shown)


def _code(name: str) -> str:
    return f"<code>{text(name)}</code>"


def _foot(facts: Facts) -> str:
    spark = facts.material.spark
    told = f"{spark['events']:,} events on {spark['lines']:,} lines, {spark['invocations']:,} invocations, {spark['cold']} cold starts."
    return f"<footer>{text(told)} Made by <code>make demo</code>; this page loads nothing from the network.</footer>"
