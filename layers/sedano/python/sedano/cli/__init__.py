"""The command line: `sedano VERB …`, or `python -m sedano VERB …`. Data goes to stdout, words to stderr.

The command exits with 0 when it is done, 1 when it failed, and 2 when the command line is wrong (argparse's errors and `UsageError`). It
exits with 130 on Ctrl-C and with 141 on a broken pipe, as a shell reports of other programs.

A verb is a module here with `main(arguments)`, loaded when it is asked for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from sedano import __version__
from sedano.cli.printer import say, say_text
from sedano.errors import SedanoError, UsageError

VERBS = {
    "cluster": "who works, and what was worked on last",
    "discover": "what an app declares, and so what a deployment brings for it",
    "explain": "why has this task not run",
    "history": "tables and a report from the event history, with Spark",
    "keys": "the keys by which a stage marks its messages: list, make, change, drop them",
    "parked": "what was set aside and why; send it again to the queue it came from",
    "spool": "messages that wait on this machine for their queues: list, send, drop",
    "timers": "schedules that somebody left among the stage's timers: list, delete",
    "workflow": "check, draw and start workflows; list and control their runs",
}
"""What can be asked for, and what it is in a few words."""
_OF_THE_APP = ("--app", "--code")


def main(arguments: Sequence[str]) -> int:
    """Do what the command line says."""
    verb, *rest = _verb_first(arguments) or [""]
    try:
        status = _done(verb, rest)
        print(end="", flush=True)  # here, where a reader that went away can still be told from a failure
        return status
    except SedanoError as error:
        say_text(f"sedano {verb}: {error}", err=True)
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        say(f"sedano {verb}: interrupted", err=True)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is written when the interpreter ends
        return 141


def _done(verb: str, rest: Sequence[str]) -> int:  # noqa: C901 - one case for each verb
    """Do what *verb* says with the arguments in *rest*; return the exit code. Only the module of the verb is loaded."""
    match verb:
        case "cluster":
            from sedano.cli.cluster import main as done
        case "discover":
            from sedano.cli.discover import main as done
        case "explain":
            from sedano.cli.explain import main as done
        case "history":
            from sedano.cli.history import main as done
        case "keys":
            from sedano.cli.keys import main as done
        case "parked":
            from sedano.cli.parked import main as done
        case "spool":
            from sedano.cli.spool import main as done
        case "timers":
            from sedano.cli.timers import main as done
        case "workflow":
            from sedano.cli.workflow import main as done
        case _:
            return _usage(verb)
    return done(rest)


def command() -> NoReturn:
    """The command `sedano`."""
    sys.exit(main(sys.argv[1:]))


def _verb_first(arguments: Sequence[str]) -> list[str]:
    """Return *arguments* with the app's options that stand before the verb moved behind it, where each verb reads them."""
    place = 0
    while place < len(arguments) and arguments[place].partition("=")[0] in _OF_THE_APP:
        place += 1 if "=" in arguments[place] else 2
    return [*arguments[place : place + 1], *arguments[:place], *arguments[place + 1 :]]


def _usage(verb: str) -> int:
    """Say what can be asked for, or the version; return the exit code."""
    if verb in ("-V", "--version"):
        say(f"sedano {__version__}")
        return 0
    asked = verb in ("-h", "--help", "help")
    lines = ["usage: sedano VERB …   (or python -m sedano VERB …; sedano VERB --help tells more)", ""]
    lines += [f"  {name:<12}{words}" for name, words in VERBS.items()]
    if verb and not asked:
        lines += ["", f"sedano: there is no verb {verb!r}"]
    say(*lines, err=not asked)
    return 0 if asked else 2
