"""The bills of `infra.cost` for programs: a line of JSON for each stage.

    python -m infra.bills build/cdk.out
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import cost
from .cost import Stage


def data(name: str, stage: Stage) -> dict[str, Any]:
    """Return the bills of the stage *name*: an idle month, a month with work, and a million tasks in batches and alone."""
    bills = {
        "idle": cost.idle(stage), "working": cost.working(stage),
        "tasks_in_batches": cost.tasks(stage, "claimed", 1), "tasks_alone": cost.tasks(stage, "claimed", 1, 1),
    }  # fmt: skip
    return {"stage": name, "summary": cost.summary(stage), **{bill: [item._asdict() for item in items] for bill, items in bills.items()}}


def main(given: Sequence[str]) -> int:
    """Write the bills of each stage in a cloud assembly; return the exit code."""
    if len(given) != 1 or not (Path(given[0]) / "manifest.json").is_file():
        sys.stderr.write("usage: bills ASSEMBLY, the directory that `cdk synth` writes, such as cdk.out\n")
        return 2
    found = cost.stages(Path(given[0]))
    if not found:
        sys.stderr.write(f"sedano: {given[0]} holds no stage of sedano: its stacks are called sedano-STAGE-core and so on\n")
        return 2
    for name, stage in found.items():
        sys.stdout.write(f"{json.dumps(data(name, stage))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
