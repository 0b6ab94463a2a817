"""`sedano history build|compact|update|report|query`: the job that runs on Glue, on this machine. Its options are the job's own."""

from __future__ import annotations

import click

TEXT = """Build tables and a report from the event history, with Spark.

The command is build, compact, update, report or query. The arguments are those of the job: sedano history build --help lists them, with
Spark installed (pip install "sedano[dev,spark]")."""


@click.command(help=TEXT, add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="COMMAND [OPTIONS]")
@click.pass_context
def command(context: click.Context, arguments: tuple[str, ...]) -> int:
    """Run the job, or show this help."""
    if arguments in (("--help",), ("-h",)):
        click.echo(context.get_help())
        return 0
    from sedano.cli.history_job import work

    return work(arguments)
