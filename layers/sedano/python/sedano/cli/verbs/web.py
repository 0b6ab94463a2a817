"""`sedano web`: a stage as pages in a browser, on this machine.

sedano web
sedano web --no-open --port 8765
sedano web --stage prod --actions
"""

from __future__ import annotations

import click

from sedano.cli.options import as_json, of_app, settings, the_app

MOST_PORT = 65_535
HELP = """Show a stage as pages in the browser: the things that need you, tasks, failures, queues, schedules, workers, locks,
circuits, events, changes, costs.

The pages are served on 127.0.0.1 with your own credentials. They only read, unless you add --actions. Each shows the number of its reads
and their price. The first line on stdout is the address; it works once. Ctrl-C stops the server."""


@click.command(help=HELP)
@click.option("--port", type=click.IntRange(0, MOST_PORT), default=0, metavar="N", help="Port of the pages; default: a free one.")
@click.option("--no-open", is_flag=True, help="Print the address and do not open a browser.")
@click.option("--actions", is_flag=True, help="Let the pages change the stage: retry, revoke, pause, limit, redrive, release.")
@as_json
@of_app
def command(port: int, no_open: bool, actions: bool, as_json: bool) -> int:
    """Serve the pages until Ctrl-C."""
    import os
    import webbrowser

    from sedano.cli.web_pages import run
    from sedano.web.log_links import place_of

    app, found = the_app(), settings()
    region = found.values["region"].value
    where = f"{found.stage} · {region}" if region else found.stage
    logs = place_of(os.environ, region)
    return run(app, where, port, None if no_open else webbrowser.open, actions=actions, as_json=as_json, logs=logs)
