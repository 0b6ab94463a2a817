"""`sedano report`: one page about the event history: failures, latency, throughput, cost.

    sedano report --source events/ --out report.html
    sedano report --target s3://bucket/history --json

It runs the job of `sedano history update` and `sedano history report`, with Spark on this machine.
"""

from __future__ import annotations

import click

from sedano.cli.options import as_json

TARGET = "build/history"
HELP = """Write a page about the event history: failures, latency, throughput, cost. Prints the path of the page.

Needs Spark: pip install "sedano[dev,spark]"."""


@click.command(help=HELP)
@click.option("--source", metavar="PLACE", help="Take in the new events here first: a folder, s3://bucket/prefix, or one file.")
@click.option("--target", default=TARGET, metavar="PLACE", help=f"The history: a folder or s3://bucket/prefix; default: {TARGET}.")
@click.option("--out", default="report.html", metavar="FILE", help="The page; default: report.html.")
@click.option("--root", metavar="ID", help="Draw the critical path of this canvas; default: the longest one.")
@as_json
def command(source: str | None, target: str, out: str, root: str | None, as_json: bool) -> int:
    """Write the page."""
    from sedano.cli.report import report

    return report(target, out, source=source, root=root, as_json=as_json)
