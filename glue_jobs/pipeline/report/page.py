"""The page: the contents of `gather`, as one HTML file. It loads nothing, runs nothing, and holds no text that could become markup."""

from collections.abc import Sequence
from typing import Any

from glue_jobs.pipeline.report import charts
from glue_jobs.pipeline.report.figures import Figures, Judged, carried, figures, outcomes, shown, verdict
from glue_jobs.pipeline.report.flow import flow
from glue_jobs.pipeline.report.gather import EACH_KIND, HEAT_ROWS, LANE_CELLS
from glue_jobs.pipeline.report.style import STYLE
from glue_jobs.pipeline.report.words import count, day, dollars, lasting, moment, safe, share

Content = dict[str, Any]

_LATENCY = {"wait_seconds": "Waiting", "run_seconds": "Running", "total_seconds": "End to end"}
_KINDS = {
    "lost-worker": "Worker lost", "stuck-task": "Task stuck", "clock-skew": "Clock skew", "duplicates": "Delivered again",
    "out-of-order": "Out of order", "absorbed": "Absorbed",
}  # fmt: skip


def page(content: Content, judgements: Sequence[Judged] = (), before: Figures | None = None) -> str:
    """Return the page for *content* (from `gather.gathered`).

    The verdict on the thresholds, *judgements*, is the first line. *before*: the figures of an older report, to compare with.
    """
    cards = [
        _card("Thresholds", "The limits of this report", _thresholds(judgements)) if judgements else "",
        _card("Compared", "The older report, this one, and the change", _compared(before, figures(content))) if before is not None else "",
        _card("Throughput", "Published, and how attempts ended, over time", _throughput(content), wide=True),
        _card("State flow", "The states that published tasks went through", flow(content["flow"]), wide=True),
        _card("Latency", "Percentiles by task; exact, not estimated", _latency(content), wide=True),
        _card("When it was slow", "Tasks by the time they ended and the time they took, end to end", _heat(content)),
        _card("Failures", "By task, exception and place; open one for its traceback", _failures(content)),
        _card("Workers", "Each line a process: green where it ran tasks, red where one failed", _lanes(content), wide=True),
        _card("Critical path", *_critical(content), wide=True),
        _card("Cost by task", _basis(content), _cost(content)),
        _card("Worth a look", "Findings about the whole history", _anomalies(content)),
    ]
    title = f"History of {count(outcomes(content).tasks)} tasks"
    span = f"{day(content['begin'])} UTC, {lasting(content['end'] - content['begin'])}"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'">'
        f"{carried(content)}<title>{safe(title)}</title><style>{STYLE}</style></head><body><main><header>{_verdict(judgements)}"
        f"<h1>{safe(title)}</h1><p>{safe(span)}</p>{_outside(content)}</header>"
        f'<div class="tiles">{_tiles(content)}</div><div class="cards">{"".join(cards)}</div>'
        "<footer>Made by sedano from the event history: the same events give the same page, in whatever order they arrived.</footer>"
        "</main></body></html>\n"
    )


def _verdict(judgements: Sequence[Judged]) -> str:
    words = verdict(judgements)
    name = "bad" if any(one.exceeded for one in judgements) else "good"
    return f'<p class="verdict {name}">{safe(words)}</p>' if words else ""


def _thresholds(judgements: Sequence[Judged]) -> str:
    words = {True: '<span class="pill bad">exceeded</span>', False: "holds", None: "no figure"}
    rows = "".join(
        f"<tr><td>{safe(one.threshold.text)}</td><td>{safe(shown(one.threshold.figure, one.value))}</td>"
        f"<td>{words[None if one.value is None else one.exceeded]}</td></tr>"
        for one in judgements
    )
    return _scrolling("Thresholds", f"<thead><tr><th>Threshold</th><th>Figure</th><th>Verdict</th></tr></thead><tbody>{rows}</tbody>")


def _compared(before: Figures, now: Figures) -> str:
    rows = "".join(
        f"<tr><td>{safe(name)}</td><td>{safe(shown(name, before[name]))}</td><td>{safe(shown(name, now[name]))}</td>"
        f"<td>{safe(_change(before[name], now[name]))}</td></tr>"
        for name in now
    )
    return _scrolling("Compared", f"<thead><tr><th>Figure</th><th>Before</th><th>Now</th><th>Change</th></tr></thead><tbody>{rows}</tbody>")


def _change(before: float | None, now: float | None) -> str:
    if before is None or now is None or before == now:
        return "–"
    return "new" if not before else f"{100 * (now - before) / before:+.0f}\u2009%"


def _scrolling(title: str, table: str) -> str:
    """Return a table that a narrow screen scrolls, by keyboard as well."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{safe(title)}"><table>{table}</table></div>'


def _outside(content: Content) -> str:
    """Return a note about the events that the charts do not show."""
    if not content["outside"]:
        return ""
    events = f"{count(content['outside'])} {'event lies' if content['outside'] == 1 else 'events lie'}"
    cut = [
        f"{name} at {day(content[name])} UTC"
        for name, beyond in (("earliest", content["earliest"] < content["begin"]), ("latest", content["latest"] > content["end"]))
        if beyond
    ]
    words = f"{events} far from all others, as if by a wrong clock, and in no chart over time: the {' and the '.join(cut)}."
    return f'<p class="aside">{safe(words)}</p>'


def _card(title: str, words: str, body: str, *, wide: bool = False) -> str:
    name = ' class="wide"' if wide else ""
    return f"<section{name}><h2>{safe(title)}</h2><p>{safe(words)}</p>{body}</section>"


def _tiles(content: Content) -> str:
    latency = content["latency"]["all"]
    tasks, succeeded, failed = outcomes(content)
    rate = tasks / max(content["end"] - content["begin"], 1e-3)
    rows = [
        ("good", share(succeeded, tasks), "succeeded"),
        ("bad" if failed else "", count(failed), "failed for good"),
        ("", f"{rate:.3g}\u2009/s" if rate >= 0.01 else f"{rate * 3600:.3g}\u2009/h", "tasks published"),
        ("", lasting(latency.get("wait_seconds_p95")), "waiting, p95"),
        ("", lasting(latency.get("run_seconds_p95")), "running, p95"),
        ("bad" if content["quarantined"] else "", count(content["quarantined"]), "lines set aside"),
    ]
    return "".join(f'<div class="tile {name}"><b>{safe(figure)}</b><span>{safe(words)}</span></div>' for name, figure, words in rows)


def _times(content: Content, begin: float, end: float) -> list[str]:
    return [moment(begin + (end - begin) * n / 4, content["end"] - content["begin"]) for n in range(5)]


def _throughput(content: Content) -> str:
    curve = content["throughput"]
    stacked = {step: curve[step] for step in ("succeeded", "retried", "failed")}
    times = _times(content, curve["begin"], curve["begin"] + len(curve["sent"]) * curve["seconds"])
    per = "second" if curve["seconds"] == 1 else lasting(curve["seconds"])
    colours = {"succeeded": "leaf2", "retried": "amber", "failed": "red", "published": "sky"}
    legend = "".join(f'<span><i style="background:var(--{colour})"></i>{safe(name)}</span>' for name, colour in colours.items())
    drawing = charts.curves(stacked, curve["sent"], times, "Attempts that ended and tasks that were published, over time")
    return f'<div class="legend">{legend}<span>tasks per {safe(per)}</span></div>{drawing}'


def _latency(content: Content) -> str:
    figures = [(column, figure) for column in _LATENCY for figure in ("p50", "p95", "p99")]
    head = "".join(f"<th>{safe(_LATENCY[column])} {safe(figure)}</th>" for column, figure in figures)
    rows = [content["latency"]["all"], *content["latency"]["by_name"]] if content["latency"]["all"] else []
    body = "".join(
        f'<tr><td title="{safe(row["name"])}">{safe(row["name"])}</td><td>{count(row["tasks"])}</td>'
        + "".join(f"<td>{safe(lasting(row[f'{column}_{figure}']))}</td>" for column, figure in figures)
        + "</tr>"
        for row in rows
    )
    return _scrolling("Latency", f"<thead><tr><th>Task</th><th>Tasks</th>{head}</tr></thead><tbody>{body}</tbody>")


def _heat(content: Content) -> str:
    if not content["heat"]["cells"]:
        return _none("No task has ended yet.")
    times = _times(content, content["begin"], content["end"])
    label = "Tasks by the time they ended and how long they took"
    return charts.heat(content["heat"]["cells"], content["heat"]["columns"], HEAT_ROWS, times, label)


def _failures(content: Content) -> str:
    drawn = []
    for row in content["failures"]:
        poison = '<span class="pill bad">poison</span>' if row["poison"] else ""
        again = f"{count(row['failures'])} failed, {count(row['retries'])} retried"
        trace = f'<pre tabindex="0">{safe(row["example_traceback"])}</pre>' if row["example_traceback"] else ""
        title = f"<b>{safe(row['exception_type'])} · {safe(row['name'])}</b>"
        when = f"{count(row['tasks'])} tasks, last at {moment(row['last'])} UTC"
        words = f"{safe(row['example'])}<br>{when}, such as {safe(row['example_task'])}"
        drawn.append(f'<details><summary>{title}{poison}<span class="figure">{again}</span></summary><p>{words}</p>{trace}</details>')
    return "".join(drawn) or _none("Nothing failed.")


def _lanes(content: Content) -> str:
    begin, span = content["begin"], content["end"] - content["begin"]
    most = max((value for one in content["lanes"] for _, value in one["busy"]), default=0.0)
    rows = []
    for one in content["lanes"]:
        session = ((one["online"] - begin) / span, (one["last_seen"] - begin) / span)
        drawing = charts.lane(one["busy"], one["failed"], session, LANE_CELLS, most, f"Runs of {one['hostname']}")
        lost = ' <span class="pill lost">lost</span>' if one["fate"] == "lost" else ""
        title = f"{one['hostname']}, process {one['pid']}, {one['fate']}"
        rows.append(
            f'<div class="row"><span class="name" title="{safe(title)}">{safe(one["hostname"])}{lost}</span>'
            f'<div class="draw">{drawing}</div><span class="figure">{count(one["runs"])} runs</span></div>'
        )
    times = "".join(f"<span>{safe(word)}</span>" for word in _times(content, begin, content["end"]))
    axis = f'<div class="row"><span></span><div class="times">{times}</div><span></span></div>'
    return f'<div class="lanes">{"".join(rows)}{axis}</div>' if rows else _none("No worker has reported anything.")


def _critical(content: Content) -> tuple[str, str]:
    one = content["canvas"]
    if one is None or not one["critical_path"]:
        return "The chain of tasks that decided how long a canvas took", _none("No task has caused another one.")
    begin, span = one["began"], max(one["seconds"] or 0.0, 1e-6)
    words = (
        f"{one['name'] or one['root_id']}: {count(one['tasks'])} tasks in {lasting(one['seconds'])}, {one['state']}; "
        "each step was published by the one above it"
    )
    rows = [_step(step, begin, span) for step in one["critical_path"]]
    ends = f'<div class="row"><span></span><div class="times"><span>0</span><span>{safe(lasting(span))}</span></div><span></span></div>'
    keys = "".join(f'<span><i style="background:var(--{c})"></i>{name}</span>' for c, name in (("amber", "waiting"), ("leaf", "running")))
    legend = f'<div class="legend">{keys}</div>'
    return words, f'{legend}<div class="path">{"".join(rows)}{ends}</div>'


def _step(step: Content, begin: float, span: float) -> str:
    sent, until = step["sent"], step["finished"] or begin + span
    started = step["started"] if step["started"] is not None else until
    ran = "var(--leaf)" if step["state"] == "SUCCESS" else "var(--red)"
    parts = [("wait", "var(--amber)", sent, started), ("run", ran, started, until)]
    drawn = "".join(
        f'<i class="{name}" style="left:{_share(a - begin, span)};width:max(2px,{_share(b - a, span)});background:{colour}"></i>'
        for name, colour, a, b in parts
        if b > a
    )
    title = f"{step['uuid']} on {step['worker']}, {step['state']}"
    return (
        f'<div class="row"><span class="name" title="{safe(title)}">{safe(step["name"] or step["uuid"])}</span>'
        f'<div class="track">{drawn}</div><span class="figure">{safe(lasting(until - sent))}</span></div>'
    )


def _share(part: float, whole: float) -> str:
    return f"{100 * min(1.0, max(0.0, part / whole)):.2f}%"


def _basis(content: Content) -> str:
    cost = content["cost"]
    total = f"{dollars(cost['nanodollars'])} in all, at list prices"
    return f"{total}, from billed time and calls" if cost["measured"] else f"{total}: the price of these runs on Lambda with 512 MB"


def _cost(content: Content) -> str:
    rows: Sequence[Content] = content["cost"]["by_name"]
    most = max((row["nanodollars"] for row in rows), default=0)
    named = [(row["name"] or "unknown", row["nanodollars"], _each(row)) for row in rows]
    return charts.bars(named, most) if named else _none("Nothing has run.")


def _each(row: Content) -> str:
    """Return the cost of a million such tasks; the cost itself for functions that run none."""
    return f"{dollars(row['nanodollars'] / row['tasks'] * 1e6)} /M" if row["tasks"] else f"{dollars(row['nanodollars'])} in all"


def _anomalies(content: Content) -> str:
    rows = "".join(
        f"<li><b>{safe(_KINDS.get(row['kind'], row['kind']))}</b> · {safe(row['subject'])}"
        f"<br><span>{safe(row['detail'])}{_others(row)}</span></li>"
        for row in content["anomalies"]
    )
    return f'<ul class="plain">{rows}</ul>' if rows else _none("Nothing out of the ordinary.")


def _others(row: Content) -> str:
    """Return how many more of the kind exist, after the last one that is shown."""
    return f"; and {count(row['all'] - row['place'])} more like it" if row["place"] == EACH_KIND and row["all"] > EACH_KIND else ""


def _none(words: str) -> str:
    return f'<p class="none">{safe(words)}</p>'
