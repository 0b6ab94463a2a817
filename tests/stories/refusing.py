"""Queues in memory of which a test says what they refuse, and when."""

from collections.abc import Callable, Sequence
from typing import Any

from sedano.errors import SedanoError, Unavailable
from sedano.ports import Outgoing, Queues

Refuses = Callable[[str, Outgoing], SedanoError | None]
"""Says with which error a queue refuses a message; None: it does not."""


class Refusing:
    """Queues that refuse a message when *refuses* says so of the queue and the message; all others go on to the *real* ones."""

    def __init__(self, real: Queues, refuses: Refuses) -> None:
        """Refuse as *refuses* says."""
        self._real, self._refuses = real, refuses

    def __getattr__(self, name: str) -> Any:
        """Everything but sending is as it was."""
        return getattr(self._real, name)

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Send those that are not refused; in a queue that keeps order nothing of a key passes what was refused."""
        answers, stopped = [], set()
        for message in messages:
            error = Unavailable("its key stands still") if message.serial_key in stopped else self._refuses(queue, message)
            if error is not None and message.serial_key is not None:
                stopped.add(message.serial_key)
            answers.append(error or self._real.send(queue, [message])[0])
        return answers


def away(queue: str, message: Outgoing) -> SedanoError:
    """No queue answers."""
    return Unavailable(f"{queue} is away")
