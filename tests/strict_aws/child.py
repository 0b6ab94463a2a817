"""The strict AWS in child programs: a test gives a program the environment of `strict`, and reads what AWS would refuse from a file.

A program that swallows the refusal fails its test all the same, because the file keeps what was refused (the fixture `strict_child`).
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sedano.testing.strict_aws.hook import StrictAws, TrippedError
from sedano.testing.strict_aws.limits import Trip

Strict = Callable[[Mapping[str, str]], dict[str, str]]
"""Makes the environment of a child program strict (the fixture `strict_child`)."""
NOTES = "SEDANO_STRICT_AWS"
"""Names the file in which a child writes what AWS would refuse."""
SITE = Path(__file__).resolve().parent / "site"
"""What a child imports when it starts (`sitecustomize`)."""


def strict(environment: Mapping[str, str], notes: Path) -> dict[str, str]:
    """Return *environment* for a child program whose calls AWS would take; what it would refuse is written to *notes*."""
    path = os.pathsep.join(filter(None, (str(SITE), environment.get("PYTHONPATH", ""))))
    return {**environment, "PYTHONPATH": path, NOTES: str(notes)}


class Noting(StrictAws):
    """The hook of a child program."""

    def _trip(self, service: str, operation: str, found: Sequence[Trip]) -> None:
        try:
            super()._trip(service, operation, found)
        except TrippedError as refused:
            with Path(os.environ[NOTES]).open("a", encoding="utf-8") as notes:
                notes.write(f"{refused}\n")
            raise


def install() -> None:
    """Stand under every client of this program."""
    Noting().install()
