"""Runs Glue's history job on this machine, for `sedano history build|compact|update|report|query`.

The job is in `glue_jobs`, which the wheel contains; Spark is an extra. In a source tree, the JVM is the one that `make` installs.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Sequence

from sedano.errors import ConfigurationError
from sedano.history import find_jobs


def work(arguments: Sequence[str]) -> int:
    """Run the job with its own *arguments*; return its exit code."""
    if not _is_there("pyspark"):
        raise ConfigurationError("history needs Spark, which is an extra: pip install 'sedano[spark]'")
    find_jobs()
    if _is_there("requirements.toolchain"):
        from requirements.toolchain import environment

        os.environ.update(environment(os.environ))
    from glue_jobs import history

    return int(history.main(arguments))


def _is_there(module: str) -> bool:
    """Whether a module can be imported; a folder of the user's that has the name of its package does not count."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
