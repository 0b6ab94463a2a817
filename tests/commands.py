"""Commands in messages, with their type."""

from sedano.model.messages import codec
from sedano.model.messages.message import Command


def command_in(body: str) -> Command:
    """Return the command that *body* is."""
    found = codec.decode(body)
    assert isinstance(found, Command)
    return found
