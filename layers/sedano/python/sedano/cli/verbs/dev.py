"""`sedano dev`: run the app of this project on this machine, and reload it when a file is saved.

sedano dev
sedano dev --app shop.tasks:app --port 8710 --fresh
sedano dev --once
sedano dev --aws
sedano dev --json
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from sedano.cli.options import of_code, refuse_stage, settings
from sedano.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from sedano.cli.settings import Settings

LONGEST_S, MOST_PORT = 900, 65_535
HELP = """Run the app of this project on this machine, over one SQLite file in .sedano, without AWS.

The app, the port and the secrets of webhooks are settings in pyproject.toml, below [tool.sedano] and [tool.sedano.dev]. Programs started in
the project's folder connect to it without settings. Its pages in the browser are those of `sedano web`; the address works once. Ctrl-C
stops it after the running task. With --aws the deployed functions run instead, on an AWS endpoint of this machine."""


@click.command(help=HELP)
@of_code
@click.option("--port", type=click.IntRange(0, MOST_PORT), metavar="N", help="Port of the webhooks; default: a free one.")
@click.option("--web-port", type=click.IntRange(0, MOST_PORT), metavar="N", help="Port of the pages; default: a free one.")
@click.option("--no-web", is_flag=True, help="Serve no pages.")
@click.option("--timeout", type=click.IntRange(2, LONGEST_S), metavar="S", help="Time limit (seconds) of a batch of tasks.")
@click.option("--fresh", is_flag=True, help="Move the existing state away and start with an empty one.")
@click.option("--no-reload", is_flag=True, help="Do not reload the code when a file is saved.")
@click.option("--once", is_flag=True, help="Run what is due, then stop; the exit code shows whether a task failed.")
@click.option("--aws", is_flag=True, help="Deploy the stacks to an AWS endpoint on this machine and run them there.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON when it is ready, or drained; everything else to stderr.")
def command(
    port: int | None, web_port: int | None, no_web: bool, timeout: int | None, fresh: bool, no_reload: bool, once: bool, aws: bool,
    as_json: bool,
) -> int:  # fmt: skip
    """Run until a signal asks for the end, or once."""
    from sedano.dev.command import run
    from sedano.dev.settings import TIMEOUT_S, DevSettings

    refuse_stage("dev")
    if web_port is not None and (no_web or once):
        raise UsageError(f"--web-port: with {'--no-web' if no_web else '--once'} there are no pages; leave one of the two out")
    found = settings()
    if found.app is None:
        raise UsageError(
            'which app? write app = "module:attribute" below [tool.sedano] in pyproject.toml, or give --app module:attribute; '
            "sedano new NAME makes a project"
        )
    code = found.code.resolve()
    if not code.is_dir():
        raise UsageError(f"--code: {code} is not a folder; give the one that has the modules of {found.app}")
    if aws:
        others = {"--port": port, "--web-port": web_port, "--no-web": no_web, "--fresh": fresh, "--no-reload": no_reload, "--once": once}
        return _on_aws(found, code, timeout, [option for option, given in others.items() if given not in (None, False)], as_json)
    own = {name: found.values[f"dev.{name}"].value for name in ("port", "timeout") if f"dev.{name}" in found.values}
    own = {"port": 0, "timeout": TIMEOUT_S} | own | {name: one for name, one in (("port", port), ("timeout", timeout)) if one is not None}
    return run(
        DevSettings(
            app=found.app, code=code, project=found.folder.resolve(), secrets=found.secrets, fresh=fresh,
            reload=not (no_reload or once), json=as_json, once=once, pages=None if no_web else web_port or 0, **own,
        )
    )  # fmt: skip


def _on_aws(found: Settings, code: Path, timeout: int | None, others: Sequence[str], as_json: bool) -> int:
    """Run the stacks on an AWS endpoint of this machine."""
    from sedano.cli.dev_on_aws import run

    if others:
        raise UsageError(f"{others[0]}: `sedano dev --aws` runs deployed functions and does not take it; leave one of the two out")
    return run(found, code, timeout, as_json)
