"""The deployment of sedano, for the CDK: `SedanoStacks` composes a stage, `StageConfig` has its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    from .assets import AssetError
    from .config import ConfigError, StageConfig
    from .discovery import DiscoveryError
    from .fleet import Fleet
    from .sedano_stacks import SedanoStacks

__all__ = ["AssetError", "ConfigError", "DiscoveryError", "Fleet", "SedanoStacks", "StageConfig"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return the object called *name*, loaded at its first use: a program that only counts the bytes of a layer starts no CDK."""
        home = _home(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(home, name)
        return found


def _home(name: str) -> ModuleType | None:
    """Return the module that *name* comes from, loaded here."""
    home: ModuleType
    match name:
        case "AssetError":
            from . import assets as home
        case "ConfigError" | "StageConfig":
            from . import config as home
        case "DiscoveryError":
            from . import discovery as home
        case "Fleet":
            from . import fleet as home
        case "SedanoStacks":
            from . import sedano_stacks as home
        case _:
            return None
    return home
