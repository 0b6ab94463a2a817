"""The cost of a small stage in an idle month, from the cost page of its templates: `python -m benchmarks.cost`, into build/bench/cost.json.

The stage is that of `examples/hello` with the settings that `make deploy` has without `SET=`.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks import report
from benchmarks.report import Entry, Section
from infra import cost, task_cost
from sedano.local.stage import stage_context
from sedano.local.synthesis import synthesise

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "build" / "bench" / "cost.json"


def section(scratch: Path) -> Section:
    """Synthesise the stage into *scratch* and return the figures of its cost page."""
    context = {**stage_context("tasks:app", ROOT / "examples" / "hello"), "local": "false"}
    idle = cost.idle(cost.read(synthesise(context, scratch / "cdk.out")))
    entries = [Entry("an idle month", task_cost.total(idle), "USD")]
    entries += [Entry(f"an idle month: {item.name}", item.dollars, "USD") for item in idle]
    return Section("Cost of a small stage", "list prices, from the templates of examples/hello", entries)


def main() -> None:
    """Write and print the figures."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        found = section(Path(scratch))
    report.write(REPORT, [found], time.monotonic() - began)
    print(report.table([found]))


if __name__ == "__main__":
    main()
