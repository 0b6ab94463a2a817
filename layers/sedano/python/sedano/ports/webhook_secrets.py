"""The port of the secrets with which senders of webhooks sign. Not one of `sedano.ports`: only the webhook function has it."""

from __future__ import annotations

from typing import Protocol

_BYTE_ORDER_MARK = "\ufeff"


class SecretTexts(Protocol):
    """The secrets of each webhook, in the store of the deployment."""

    def read(self, webhook: str) -> tuple[str, ...]:
        """Return the secrets that are valid for *webhook* now.

        Raises:
            ConfigurationError: no secret was ever stored; the message says how to store one.
            Unavailable: the store did not answer.
        """


def lines_of(text: str) -> tuple[str, ...]:
    """Return the secrets that *text* holds, one a line: the store keeps one text for each webhook.

    White space around them, and the byte-order mark that some editors write, are ignored.
    """
    lines = [line.strip().removeprefix(_BYTE_ORDER_MARK).strip() for line in text.splitlines()]
    return tuple(line for line in lines if line)
