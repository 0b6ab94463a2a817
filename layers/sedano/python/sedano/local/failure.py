"""Failures of the local stage before the user's code runs."""

from sedano.errors import SedanoError


class LocalStageError(SedanoError):
    """The local stage cannot run; the message names the missing part and the remedy."""
