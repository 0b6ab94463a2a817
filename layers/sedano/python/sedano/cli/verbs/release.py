"""`sedano release NAME --token N`: releases a lock in place of the holder that has the token.

sedano locks nightly-report
sedano release nightly-report --token 1795478400000 --reason "its machine is gone"
"""

from __future__ import annotations

import click

from sedano.cli.options import changes, consent, of_app, the_app, whole

HELP = """Release a lock in place of its holder, if it is still held with the token that `sedano locks` printed.

The holder notices at its next renewal. The next holder gets a larger token, so a guard refuses later writes of the old one."""


@click.command(help=HELP)
@click.argument("name")
@click.option("--token", type=whole(1), required=True, metavar="N", help="The fencing token of the holder, as `sedano locks` prints it.")
@changes
@of_app
def command(name: str, token: int) -> int:
    """Release a lock."""
    from sedano.cli import operations

    return operations.release(the_app(), name, token, consent())
