"""The local stage: the real stacks on an AWS endpoint of this machine, in one `with` statement.

    with local_stage(app="shop.tasks:app", code=Path("src"), directory=Path("build/local")) as stage:
        os.environ.update(stage.environment)

What runs is what is deployed: the CDK app is synthesised, CloudFormation creates its stacks, and functions start from
their layers in processes of their own. Only the endpoint is not AWS, and it listens on 127.0.0.1 alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sedano.local.endpoint import Endpoint
    from sedano.local.failure import LocalStageError
    from sedano.local.stage import LocalStage, local_stage

__all__ = ["Endpoint", "LocalStage", "LocalStageError", "local_stage"]
_ROOMS = {"Endpoint": "endpoint", "LocalStage": "stage", "LocalStageError": "failure", "local_stage": "stage"}
"""Where each name lives: the command hears Ctrl-C before it loads an AWS client."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return what *name* stands for, loaded when it is first asked for."""
        if name not in _ROOMS:
            raise AttributeError(f"module 'sedano.local' has no attribute {name!r}")
        found = globals()[name] = getattr(importlib.import_module(f"sedano.local.{_ROOMS[name]}"), name)
        return found
