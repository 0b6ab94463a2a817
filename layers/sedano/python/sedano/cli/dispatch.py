"""Reads the command line with click, runs the verb, and turns every error into one message and an exit code.

click's own `main` is not used, because it writes to the terminal and ends the process itself. Here each message goes through the printer.
"""

from __future__ import annotations

import difflib
import os
import re
import traceback
from collections.abc import Sequence

import click
from click.shell_completion import shell_complete

from sedano import __version__
from sedano.cli.exits import Exit, exit_of
from sedano.cli.options import of_app
from sedano.cli.printer import say, say_text
from sedano.cli.verb_table import VERBS
from sedano.errors import NotAllowed, SedanoError

HELP = """Command line of sedano. Data goes to stdout, messages to stderr.

sedano VERB --help shows the options of a verb. The app is module:attribute, from --app, SEDANO_APP
or [tool.sedano] in pyproject.toml; sedano config shows the settings.
--debug, before or after the verb, shows the traceback of an error."""
COMPLETE = "_SEDANO_COMPLETE"
"""The variable in which the script of `sedano completion` requests completions."""
_EXPLAIN = re.compile(r"app\.control\.explain\('([^'\s]+)'\)")
_NAMES = {"help_option_names": ["-h", "--help"]}


class Verbs(click.Group):
    """The verbs of the table. Help lists them without loading any."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all verbs."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load the verb *cmd_name*; None when the table has no such verb."""
        verb = VERBS.get(cmd_name)
        return _debuggable(verb.load()) if verb is not None else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one line for each verb."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, verb.help) for name, verb in VERBS.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb that *args* name.

        Raises:
            UsageError: no verb has that name.
        """
        if args[0] in VERBS or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        near = difflib.get_close_matches(args[0], VERBS, n=1)
        raise click.UsageError(f"{args[0]!r} is not a verb{f'; did you mean {near[0]}?' if near else ''}", ctx)


def run(arguments: Sequence[str]) -> int:
    """Run the command line *arguments*; return the exit code, or raise BrokenPipeError when the reader closed the output."""
    context = root.make_context("sedano", [], resilient_parsing=True)
    try:
        if os.environ.get(COMPLETE):
            return shell_complete(root, {}, "sedano", COMPLETE, os.environ[COMPLETE])
        if list(arguments) == ["help"]:
            arguments = ["--help"]
        with root.make_context("sedano", list(arguments)) as context:
            status = root.invoke(context)
        return status if isinstance(status, int) else Exit.DONE
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except (KeyboardInterrupt, click.Abort):
        say(f"{_named(context)}: interrupted", err=True)
        return Exit.INTERRUPTED
    except click.ClickException as wrong:
        return _wrong(wrong, context)
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the edge of the program: without --debug no traceback leaves it
        return _failed(error, context)


def _wrong(wrong: click.ClickException, context: click.Context) -> int:
    """Report a command line that click refuses."""
    at = wrong.ctx if isinstance(wrong, click.UsageError) and wrong.ctx is not None else context
    if isinstance(wrong, click.exceptions.NoArgsIsHelpError):
        say_text(wrong.format_message(), err=True)
        return Exit.USAGE
    say_text(at.get_usage(), err=True)
    parts = "verbs" if isinstance(at.command, click.Group) else "options"
    message = " ".join(wrong.format_message().split())  # click lists choices with tabs, one a line
    say(f"{at.command_path}: {message} ({at.command_path} --help lists the {parts})", err=True)
    return Exit.USAGE


def _failed(error: Exception, context: click.Context) -> int:
    """Report an error that ended the verb: its message, and with `--debug` its traceback."""
    if context.meta.get("debug"):
        say_text("".join(traceback.format_exception(error)), err=True)
    if isinstance(error, SedanoError):
        say_text(f"{_named(context)}: {as_verbs(str(error))}", err=True)
        if isinstance(error, NotAllowed):
            say(f"{_named(context)}: the missing IAM action is {error.action}", err=True)
        return exit_of(error)
    say_text(f"{_named(context)}: internal error: {type(error).__name__}: {error}; add --debug to see where", err=True)
    return Exit.FAILED


def as_verbs(message: str) -> str:
    """Return the *message* of an error with `sedano explain` where the library names its method."""
    return _EXPLAIN.sub(r"`sedano explain \1`", message)


def _named(context: click.Context) -> str:
    return f"sedano {context.invoked_subcommand}" if context.invoked_subcommand else "sedano"


def _debuggable(command: click.Command) -> click.Command:
    """Let *command* and all its subcommands take `--debug`, which their help does not repeat."""
    command.context_settings = {**_NAMES, **command.context_settings}
    if not any(one.name == "debug" for one in command.params):
        command.params.append(click.Option(["--debug"], is_flag=True, hidden=True, expose_value=False, callback=_debug))
    if isinstance(command, click.Group):
        for one in command.commands.values():
            _debuggable(one)
    return command


def _debug(context: click.Context, option: click.Parameter, value: bool) -> None:
    if value:
        context.meta["debug"] = True


def _version(context: click.Context, option: click.Parameter, value: bool) -> None:
    if value:
        say(f"sedano {__version__}")
        context.exit()


@click.group(cls=Verbs, help=HELP, context_settings=_NAMES, subcommand_metavar="VERB …")
@of_app
@click.option("--debug", is_flag=True, expose_value=False, callback=_debug, help="Show the traceback of an error.")
@click.option("-V", "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
def root() -> None:
    """Take the options that are given before the verb."""
