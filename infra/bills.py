"""The bills of `infra.cost` for programs: a line of JSON for each stage.

    python -m infra.bills build/cdk.out
"""

import json
import sys
from collections.abc import Sequence
from typing import Any

from . import cost, task_cost
from .task_cost import Stage


def data(name: str, stage: Stage) -> dict[str, Any]:
    """Return the bills of the stage *name*: an idle month, a month with work, and a million tasks in batches and alone."""
    bills = {
        "idle": cost.idle(stage), "working": cost.working(stage),
        "tasks_in_batches": task_cost.tasks(stage, "claimed", 1), "tasks_alone": task_cost.tasks(stage, "claimed", 1, 1),
    }  # fmt: skip
    return {"stage": name, "summary": cost.summary(stage), **{bill: [item._asdict() for item in items] for bill, items in bills.items()}}


def main(given: Sequence[str]) -> int:
    """Write the bills of each stage in a cloud assembly; return the exit code."""
    found = cost.asked("bills", given)
    for name, stage in found.items():
        sys.stdout.write(f"{json.dumps(data(name, stage))}\n")
    return 0 if found else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
