"""The cost of a stage at list prices, computed from its templates by the constructs in a separate process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from sedano.deploy.cdk_environment import Constructs
from sedano.errors import UsageError


def cost(assembly: Path, found: Constructs, *, as_json: bool = False) -> str:
    """Return the cost of the stages in *assembly*, the folder of a synthesis: a page in Markdown, or one line of JSON for each stage.

    Raises:
        UsageError: the folder is not a cloud assembly, or holds no stage.
    """
    module = found.module.rpartition(".")[0] + (".bills" if as_json else ".cost")
    places = os.pathsep.join([*map(str, found.places), *filter(None, [os.environ.get("PYTHONPATH", "")])])
    command = [sys.executable, "-P", "-m", module, str(assembly)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": places}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UsageError(f"{assembly}: {done.stderr.strip().removeprefix('sedano: ')}; `sedano cost` without a folder makes the templates")
    return done.stdout.rstrip("\n")
