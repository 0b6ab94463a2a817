"""Turns the CDK app into a cloud assembly: templates, and the directories that become layers and functions.

The app runs in its own process, with the Node that the toolchain finds, and by default without cdk-nag's rules, which check deployments
to AWS and take seconds.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from sedano.local.failure import LocalStageError

ROOT = Path(__file__).resolve().parents[5]
TOOLCHAIN = ROOT / "requirements" / "toolchain.py"


def synthesise(context: Mapping[str, str], assembly: Path, *, judged: bool = False) -> Path:
    """Write the cloud assembly for `context` (the settings in `infra/README.md`) to `assembly` and return it.

    `judged`: findings of cdk-nag are errors. Raises `LocalStageError` with the output of the app if the synthesis fails.
    """
    if not TOOLCHAIN.is_file():
        raise LocalStageError("this needs sedano's source tree, not the installed package: clone it and run it there")
    settings = json.loads((ROOT / "cdk.json").read_text())["context"]
    done = subprocess.run(
        [sys.executable, str(TOOLCHAIN), "run", sys.executable, "-m", "infra.app"],
        cwd=ROOT,
        env={
            **os.environ,
            "CDK_CONTEXT_JSON": json.dumps({**settings, **context}),
            "CDK_OUTDIR": str(assembly.resolve()),
            "CDK_VALIDATION": "true" if judged else "false",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise LocalStageError(f"the stacks cannot be synthesised:\n{(done.stdout + done.stderr).strip()}")
    return assembly
