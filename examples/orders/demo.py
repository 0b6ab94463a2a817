"""Orders on their way to analytics, with faults: `make demo-orders`, or `python -m examples.orders.demo --orders N`.

It creates the stacks on a local AWS endpoint that enforces IAM, and posts signed orders to the webhook, some of them twice. Meanwhile
messages are delivered twice, functions are killed at work, and the CRM is away for a while. Then the demo checks that each order was booked
once, with its movement of the stock, that its document is in each sink once, and that its trace is one tree. It writes
`build/orders/summary.json`, prints each fault in words, and ends with status 1 if there is one.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from examples.local_run.command import FAILED, ROOT, copied, on_stage, run_command
from examples.local_run.progress import Progress
from examples.orders import tasks
from examples.orders.checks import Findings, complaints, findings
from examples.orders.crm import Crm
from examples.orders.places import settings
from examples.orders.run import ORDERS_A_KILL, Material, OrdersRun
from examples.orders.shop import ShopError
from sedano import SedanoError
from sedano.local import LocalStageError, local_stage

BUILD = ROOT / "build" / "orders"
APP = "examples.orders.tasks:app"
MOST = 10_000
THOUSAND_IN_DOLLARS = 1e-6
"""Dollars a thousand for nanodollars each."""


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(prog="python -m examples.orders.demo", description="Send orders through the whole system.")
    parser.add_argument("--orders", type=_count, default=120, help=f"how many orders, 1 to {MOST} (default: 120)")
    parser.add_argument("--build", type=Path, default=BUILD, help="where the summary goes (default: build/orders)")
    return parser.parse_args(given)


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {MOST}")
    return int(text)


def main(given: Sequence[str] | None = None) -> int:
    """Run the demo; return 0 if all checks pass."""
    options, progress = arguments(given), Progress(sys.stderr)
    return run_command(lambda: _status(options, progress), progress, (LocalStageError, ShopError, SedanoError))


def _status(options: argparse.Namespace, progress: Progress) -> int:
    material = _run(options, progress)
    return _told(material, options.build.resolve() / "summary.json", progress.seconds)


def _run(options: argparse.Namespace, progress: Progress) -> Material:
    build: Path = options.build.resolve()
    shutil.rmtree(build, ignore_errors=True)
    code = copied(tasks, build / "code")
    progress.phase("synthesising the stacks and creating them on a local AWS endpoint that enforces IAM")
    with Crm() as crm, local_stage(**_stage(build, code, crm)) as stage, on_stage(tasks.app, stage.environment):
        return OrdersRun(stage, crm, options.orders, build, progress).material()


def _stage(build: Path, code: Path, crm: Crm) -> dict[str, Any]:
    return {"app": APP, "code": code, "directory": build / "stage", "enforce_iam": True, **settings(crm.address)}


def _told(material: Material, summary: Path, seconds: float) -> int:
    """Write the summary, print what happened and what is wrong; return the exit status."""
    found, done, crm = findings(material.expected, material.evidence), material.done, material.crm
    kills = done.hits if len(material.expected) >= ORDERS_A_KILL else -1
    wrong = complaints(found, kills, crm.turned_away, crm.forged)
    dollars = material.costs.nanodollars / max(1, found.orders) * THOUSAND_IN_DOLLARS
    numbers = {
        "orders": found.orders, "lost": found.lost, "doubled": found.doubled, "half_effects": found.half_effects,
        "documents": found.documents, "traces_broken": found.traces_broken, "requests": material.posted,
        "duplicates_injected": done.injected, "kills": done.hits, "crm_turned_away": crm.turned_away, "crm_accepted": len(crm.received),
        "crm_forged": crm.forged, "dollars_a_thousand_orders": round(dollars, 6), "seconds": round(seconds, 1),
    }  # fmt: skip
    summary.write_text(json.dumps(numbers, indent=2) + "\n")
    print("\n".join(["", *_happened(material, found, dollars, seconds), "", *_verdict(wrong), "", f"  summary  {summary}"]), flush=True)
    return FAILED if wrong else 0


def _happened(material: Material, found: Findings, dollars: float, seconds: float) -> list[str]:
    done, crm = material.done, material.crm
    return [
        f"{found.orders} orders arrived in {material.posted} requests; {done.injected} messages were delivered twice.",
        f"{done.hits} functions were killed while they held tasks.",
        f"The CRM was away at first: it turned {crm.turned_away} deliveries away, and then accepted {len(crm.received)}.",
        f"{found.documents} documents are in three sinks. A thousand orders cost ${dollars:.4f} on AWS. It took {seconds:.0f} seconds.",
    ]


def _verdict(wrong: Sequence[str]) -> list[str]:
    if wrong:
        return ["WRONG:", *(f"  - {words}" for words in wrong)]
    return ["Nothing was lost or doubled, no effect was half, and each trace is one tree."]


if __name__ == "__main__":
    sys.exit(main())
