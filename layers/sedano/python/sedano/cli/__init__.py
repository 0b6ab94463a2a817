"""The command line: `sedano VERB …`, or `python -m sedano VERB …`. Data goes to stdout, messages to stderr.

It needs click, which is in the extra `dev`. `sedano.cli.exits` lists the exit codes, `sedano.cli.verb_table` the verbs; only the verb of
the command line is loaded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from sedano.cli.exits import Exit
from sedano.cli.printer import say


def main(arguments: Sequence[str]) -> int:
    """Run the command line *arguments*; return the exit code."""
    try:
        from sedano.cli.dispatch import run
    except ModuleNotFoundError as missing:
        if missing.name != "click":
            raise
        say('sedano: the command line needs click: pip install "sedano[dev]"', err=True)
        return Exit.USAGE
    try:
        status = run(arguments)
        print(end="", flush=True)  # here, where a reader that went away can still be told from a failure
        return status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is written when the interpreter ends
        return Exit.PIPE


def command() -> NoReturn:
    """The command `sedano`."""
    sys.exit(main(sys.argv[1:]))
