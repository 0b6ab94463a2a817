"""The error of a deployment."""

from sedano.errors import SedanoError


class DeployError(SedanoError):
    """A stage could not be deployed; the message says what to do."""
