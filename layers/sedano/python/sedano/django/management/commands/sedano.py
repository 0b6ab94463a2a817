"""`manage.py sedano VERB …`: the verbs of `sedano` for the project's app, with its settings loaded.

The app is `sedano.django.worker:app`, which is also the one to deploy; `--app` after the verb names another. `--settings` and
`--pythonpath` belong to Django, every other option to the verb. It exits with the code of the verb.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sedano.cli import main

APP = "sedano.django.worker:app"
"""The app of the project: importing it sets Django up and gives each body fresh connections."""


def of_verbs(arguments: Sequence[str]) -> list[str]:
    """Return *arguments* without Django's own options, which Django has already read."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--settings")
    parser.add_argument("--pythonpath")
    return parser.parse_known_args(list(arguments))[1]


class VerbCommand(BaseCommand):  # type: ignore[misc] # Django has no types
    """Passes its arguments to the command line of sedano."""

    help = "The verbs of sedano, for the app of this project: manage.py sedano --help lists them."
    requires_system_checks = ()

    def run_from_argv(self, argv: Sequence[str]) -> None:
        """Run the verb on manage.py's command line, and exit with the verb's code."""
        sys.exit(main(["--app", APP, *of_verbs(argv[2:])]))

    def add_arguments(self, parser: CommandParser) -> None:
        """Take every argument of `call_command`."""
        parser.add_argument("arguments", nargs=argparse.REMAINDER)

    def handle(self, *args: object, **options: Any) -> None:
        """Run the arguments of `call_command`.

        Raises:
            CommandError: the verb failed; its exit code is `returncode`.
        """
        with redirect_stdout(options.get("stdout") or sys.stdout), redirect_stderr(options.get("stderr") or sys.stderr):
            status = main(["--app", APP, *options["arguments"]])
        if status:
            raise CommandError(f"sedano {' '.join(options['arguments'])} exited with {status}", returncode=status)


Command = VerbCommand
"""The name that Django looks for."""
