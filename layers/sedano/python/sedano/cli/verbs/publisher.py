"""`sedano publisher`: a process that sends the messages of all programs on this host.

sedano publisher --socket /run/shop/publisher.sock
sedano publisher shop.tasks:app --socket /run/shop/publisher.sock --ack stored --allow www-data
"""

from __future__ import annotations

import click

from sedano.cli.options import as_json, chosen, of_app, the_app
from sedano.errors import UsageError

LANES, DRAIN_S, MOST_LANES = 2, 10.0, 64
HELP = """Send the messages of the programs on this host, until SIGTERM or Ctrl-C.

Programs select it by SEDANO_PUBLISHER=unix:/run/shop/publisher.sock. Their messages are sent together, ten to a call. A program that finds
no publisher sends itself. The first signal lets calls end; the second one ends the process at once."""


@click.command(help=HELP)
@click.argument("reference", required=False, metavar="[APP]")
@of_app
@click.option(
    "--socket", default="", metavar="PATH", help="The socket to listen at; default: the one that systemd passes."
)  # fmt: skip
@click.option(
    "--ack", type=click.Choice(["sent", "stored"]), default="sent", show_default=True,
    help="Confirm when the queue has a message, or when it is on this disk.",
)  # fmt: skip
@click.option(
    "--lanes", type=click.IntRange(1, MOST_LANES), default=LANES, show_default=True, metavar="N", help="Calls at once for each queue."
)  # fmt: skip
@click.option("--allow", multiple=True, metavar="USER", help="A further user that may publish, by name or id; may be repeated.")
@click.option("--drain", type=click.FloatRange(0), default=DRAIN_S, show_default=True, metavar="S", help="Seconds to end after a signal.")
@as_json
def command(
    reference: str | None, socket: str, ack: str, lanes: int, allow: tuple[str, ...], drain: float, as_json: bool
) -> int:  # fmt: skip
    """Run until a signal ends it."""
    from sedano.host.publisher_command import PublisherOptions, run

    if reference:
        if chosen("app"):
            raise UsageError("the app is named twice; leave out --app")
        click.get_current_context().meta["sedano.app"] = reference
    options = PublisherOptions(socket=socket, ack=ack, lanes=lanes, allowed=allow, drain=drain, logs="json" if as_json else "")
    return run(the_app(), options)
