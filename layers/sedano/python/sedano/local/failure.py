"""Failures on this machine before anything of the user's runs."""

from sedano.errors import SedanoError


class LocalStageError(SedanoError):
    """The local stage cannot run; the message names the missing part and the remedy."""
