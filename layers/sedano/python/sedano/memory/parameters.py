"""Parameters and profiles, in memory."""

from __future__ import annotations

from collections.abc import Mapping

from sedano.errors import ConfigurationError


class MemoryParameters:
    """The texts that are *kept*, which may change: parameters by name (`/shop/pool`), profiles by `application/environment/profile`."""

    def __init__(self, kept: dict[str, str] | None = None) -> None:
        """Read the texts in *kept*; by default none."""
        self.kept: dict[str, str] = {} if kept is None else kept

    def put(self, name: str, text: str) -> None:
        """Keep *text* under *name*."""
        self.kept[name] = text

    def tree(self, path: str) -> Mapping[str, str]:
        """Return all parameters below *path*, by their names without it."""
        prefix = f"{path.rstrip('/')}/"
        return {name[len(prefix) :]: text for name, text in self.kept.items() if name.startswith(prefix)}

    def text(self, name: str) -> str:
        """Return the text of the parameter *name*; "" if it does not exist."""
        return self.kept.get(name, "")

    def profile(self, application: str, environment: str, profile: str) -> str:
        """Return the text of a profile."""
        name = f"{application}/{environment}/{profile}"
        if name not in self.kept:
            raise ConfigurationError(f"appconfig:{name}: no profile has this name; give it a text with parameters.put({name!r}, …)")
        return self.kept[name]
