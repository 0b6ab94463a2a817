"""`python -m sedano history build|compact|report|query`: the same job that runs on Glue, on this machine.

The job stands in `glue_jobs`, beside the library; Spark is an extra of it. In a working tree the JVM comes from where `make` gets it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Sequence

from sedano.errors import ConfigurationError


def main(arguments: Sequence[str]) -> int:
    """Run the job."""
    if importlib.util.find_spec("pyspark") is None:
        raise ConfigurationError("history needs Spark, which is an extra: pip install 'sedano[spark]'")
    if importlib.util.find_spec("glue_jobs") is None:
        raise ConfigurationError("history runs from sedano's working tree, where glue_jobs stands; start it there")
    if importlib.util.find_spec("requirements") is not None:
        os.environ.update(importlib.import_module("requirements.toolchain").environment(os.environ))
    return int(importlib.import_module("glue_jobs.history").main(arguments))
