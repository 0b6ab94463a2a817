"""The port of the values that a deployment's owner keeps for its applications: parameters below paths, and profiles of configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class OwnersParameters(Protocol):
    """The parameters and profiles of one account and Region; read only."""

    def tree(self, path: str) -> Mapping[str, str]:
        """Return all parameters below *path* (`/shop`), by their names without it (`mail/sender`); an empty mapping without any.

        Raises:
            Unavailable: the store did not answer.
            NotAllowed: this program may not read them.
        """

    def text(self, name: str) -> str:
        """Return the text of the parameter *name* (`/shop/orders/token`), decrypted; "" if it does not exist.

        Raises:
            Unavailable: the store did not answer.
            NotAllowed: this program may not read it.
        """

    def profile(self, application: str, environment: str, profile: str) -> str:
        """Return the text of the configuration *profile* that is deployed to *environment*; "" where nothing is.

        Raises:
            ConfigurationError: the application, the environment or the profile does not exist.
            Unavailable: the store did not answer.
            NotAllowed: this program may not read it.
        """
