"""The secrets of webhooks, in memory."""

from __future__ import annotations

from collections.abc import Mapping

from sedano.errors import ConfigurationError
from sedano.ports.webhook_secrets import lines_of


class MemorySecretTexts:
    """The secrets of one deployment, as one text for each webhook."""

    def __init__(self, kept: Mapping[str, str]) -> None:
        """Read the texts in *kept*, which may change."""
        self._kept = kept

    def read(self, webhook: str) -> tuple[str, ...]:
        """Return the secrets that are valid for *webhook* now."""
        found = lines_of(self._kept.get(webhook, ""))
        if not found:
            raise ConfigurationError(f"webhook {webhook}: no secret is set; set it with `world.secrets[{webhook!r}] = …`")
        return found
