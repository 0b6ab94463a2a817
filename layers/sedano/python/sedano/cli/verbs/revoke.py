"""`sedano revoke ID...`: revokes tasks, by id or by header."""

from __future__ import annotations

import click

from sedano.cli.options import by_search, changes, consent, of_app, the_app

HELP = """Revoke tasks by id, all tasks with a header, such as --header tenant=acme, or those that a search finds, such as
--query "name:shop.* queue:mail".

A waiting task does not run; a running task is not retried. Exits with 5 if a task had already ended."""


@click.command(help=HELP)
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--terminate", is_flag=True, help="A running task ends at its next check.")
@click.option("--header", metavar="NAME=VALUE", help="All tasks with this header, now and later: tenant, task, queue, root_id, a stamp.")
@click.option("--restore", is_flag=True, help="End the revocation of a header.")
@by_search
@changes
@of_app
def command(
    ids: tuple[str, ...], terminate: bool, header: str | None, restore: bool, query: str | None, days: int, most: int
) -> int:  # fmt: skip
    """Revoke tasks."""
    name, separator, value = (header or "").partition("=")
    if sum(map(bool, (ids, header, query))) != 1:
        raise click.UsageError("revoke what? give ids, --header NAME=VALUE, or --query QUERY")
    if header and not (name and separator and value):
        raise click.UsageError(f"--header: {header}: write NAME=VALUE")
    if restore and not header:
        raise click.UsageError("--restore ends the revocation of a header; a revoked id stays revoked")
    from sedano.cli import operations

    if header:
        return operations.revoke_by_header(the_app(), name, value, restore, consent())
    if query:
        return operations.revoke_search(the_app(), query, days, most, terminate, consent())
    return operations.revoke(the_app(), ids, terminate, consent())
