"""The deployment of sedano, for the CDK: `SedanoStacks` composes a stage, `StageConfig` says what it is like."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .assets import AssetError
    from .config import ConfigError, StageConfig
    from .discovery import DiscoveryError
    from .sedano_stacks import SedanoStacks

__all__ = ["AssetError", "ConfigError", "DiscoveryError", "SedanoStacks", "StageConfig"]
_ROOMS = {
    "AssetError": "assets", "ConfigError": "config", "DiscoveryError": "discovery", "SedanoStacks": "sedano_stacks",
    "StageConfig": "config",
}  # fmt: skip
"""Where each name lives: whoever only counts the bytes of a layer starts no CDK."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return what *name* stands for, loaded when it is first asked for."""
        if name not in _ROOMS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(importlib.import_module(f".{_ROOMS[name]}", __name__), name)
        return found
