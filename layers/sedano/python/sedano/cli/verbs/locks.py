"""`sedano locks [NAME]...`: the holders of locks and of permits, with the fencing tokens.

sedano locks nightly-report
sedano locks singleton/shop.tidy/ leader/mailer
"""

from __future__ import annotations

import click

from sedano.cli.options import of_app, of_list, the_app

HELP = """Show locks: held or not, owner, fencing token, end of the lease.

NAME is a lock's name, the full name of another lease (singleton/TASK/KEY, leader/NAME), or an election: election/ID, with its candidates.
The store has no list of all locks and elections.

Without NAME: the singletons and permits of tasks that the app declares with one key, and on stderr its rates with their reserved slots.
Permits above a limit that was lowered are shown until they end."""


@click.command(help=HELP)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@of_app
@of_list
def command(names: tuple[str, ...], as_json: bool) -> int:
    """Show locks."""
    from sedano.cli import listings

    return listings.locks(the_app(), names, as_json)
