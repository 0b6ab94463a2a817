"""The names of commands and options in a remedy, for the command line that the user runs."""

from __future__ import annotations

from typing import NamedTuple


class Spelling(NamedTuple):
    """The words of one command line: two commands, the option of the stage, how a setting is given, and how a Region is named."""

    bootstrap: str
    deploy: str
    stage: str
    settings: str
    region: str

    def setting(self, text: str) -> str:
        """Return how the setting *text*, such as `replace=true`, is given."""
        return self.settings.format(text)


#: The verbs of `sedano`.
VERBS = Spelling("`sedano bootstrap`", "`sedano deploy`", "--stage", "--set {}", "add --region, or write region below [tool.sedano]")
#: The targets of the Makefile of a clone.
MAKE = Spelling("`make bootstrap`", "`make deploy`", "STAGE=", 'SET="{}"', 'give the stage one by SET="region=… account=…"')
