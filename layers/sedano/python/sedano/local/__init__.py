"""The local stage: the real stacks on a local AWS endpoint, in one `with` statement.

    with local_stage(app="shop.tasks:app", code=Path("src"), directory=Path("build/local")) as stage:
        os.environ.update(stage.environment)

The stage is the same as a deployment: the CDK app is synthesised, CloudFormation creates its stacks, and functions start from their
layers in their own processes. Only the endpoint is not AWS; it listens only on 127.0.0.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    from sedano.local.endpoint import Endpoint
    from sedano.local.failure import LocalStageError
    from sedano.local.stage import LocalStage, local_stage

__all__ = ["Endpoint", "LocalStage", "LocalStageError", "local_stage"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return the object called *name*, loaded at its first use: the command handles Ctrl-C before it loads an AWS client."""
        home = _home(name)
        if home is None:
            raise AttributeError(f"module 'sedano.local' has no attribute {name!r}")
        found = globals()[name] = getattr(home, name)
        return found


def _home(name: str) -> ModuleType | None:
    """Return the module that *name* comes from, loaded here."""
    home: ModuleType
    match name:
        case "Endpoint":
            import sedano.local.endpoint as home
        case "LocalStageError":
            import sedano.local.failure as home
        case "LocalStage" | "local_stage":
            import sedano.local.stage as home
        case _:
            return None
    return home
