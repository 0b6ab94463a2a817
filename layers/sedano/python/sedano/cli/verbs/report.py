"""`sedano report`: one page about the event history: failures, latency, throughput, cost.

    sedano report --source events/ --out report.html
    sedano report --target s3://bucket/history --json
    sedano report --fail-on "failed>1%" --fail-on "wait_p95>30s" --diff last_week.html

It runs the job of `sedano history update` and `sedano history report`, with Spark on this machine.
"""

from __future__ import annotations

import click

from sedano.cli.options import as_json

TARGET = "build/history"
HELP = """Write a page about the event history: failures, latency, throughput, cost. Prints the path of the page.

A threshold is FIGURE>LIMIT or FIGURE<LIMIT: failed>1%, wait_p95>30s, poison>0, cost>2.5$, tasks<100.
If a threshold is exceeded, the page begins with it and the command exits with 6.

Needs Spark: pip install "sedano[dev,spark]"."""


@click.command(help=HELP)
@click.option("--source", metavar="PLACE", help="First add new events from here: a folder, s3://bucket/prefix, or one file.")
@click.option("--target", default=TARGET, metavar="PLACE", help=f"The history: a folder or s3://bucket/prefix; default: {TARGET}.")
@click.option("--out", default="report.html", metavar="FILE", help="The page; default: report.html.")
@click.option("--root", metavar="ID", help="Draw the critical path of this canvas; default: the longest one.")
@click.option("--fail-on", multiple=True, metavar="THRESHOLD", help="Exit with 6 if the report exceeds this; repeatable.")
@click.option("--diff", metavar="FILE", help="An older page, to compare with.")
@as_json
def command(
    source: str | None, target: str, out: str, root: str | None, fail_on: tuple[str, ...], diff: str | None, as_json: bool
) -> int:  # fmt: skip
    """Write the page."""
    from sedano.cli.history_report import ReportOptions, report

    return report(ReportOptions(target=target, out=out, source=source, root=root, fail_on=fail_on, diff=diff), as_json=as_json)
