"""`make bench-deploy`: the size of a deployment, and the resources that a change of code affects, into build/bench/deploy.json.

The proofs of tests/trust keep their figures in the same file, under `trust`; their last figures are compared with their targets here too.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import cold, report
from benchmarks.report import Entry, Section, Target
from benchmarks.sizes import LAYER_TARGET, layer, zipped
from infra.limits import MOST_RESOURCES
from requirements import toolchain
from sedano.deploy import assembly

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "build" / "bench" / "deploy.json"
ROUNDS = 3
SYNTHESIS_TARGET = 10.0
WHOLE_LAYER_TARGET = 1_700_000
#: The resources that a change of code may change: the layers, the functions that use them, and their versions.
CODE = frozenset({"AWS::Lambda::LayerVersion", "AWS::Lambda::Function", "AWS::Lambda::Version", "AWS::Lambda::Alias"})
FORBIDDEN, THROUGH = "forbidden calls", "forbidden calls that went through"
#: The figures of tests/trust: the unit and the target of each.
PROMISED = {
    "unused grants": ("", Target(0)),
    "forbidden calls refused": ("%", Target(100, "least")),
    "in flight in upgrades": ("", Target(10_000, "least")),
    "lost in upgrades": ("", Target(0)),
    "doubled in upgrades": ("", Target(0)),
}
APPLICATION = """
from sedano import DomainEvent, Sedano, cron

app = Sedano("shop", queues=("default", "mail"))


@app.event
class Ordered(DomainEvent):
    number: int


@Ordered.subscribe
@app.task(queue="mail", ignore_result=True)
def confirm(number: int) -> None:
    return None


@app.periodic(cron("0 9 * * *"))
def report() -> None:
    return None
"""

Resources = Mapping[str, Mapping[str, Any]]


def synthesise(code: Path, directory: Path) -> tuple[float, dict[str, Resources]]:
    """Return the CPU seconds of synthesising production, checked with every rule, and each stack's resources."""
    context = {**json.loads((ROOT / "cdk.json").read_text())["context"], "app": "shop:app", "code": str(code), "stage": "prod"}
    environment = {**os.environ, **toolchain.environment(os.environ), "CDK_CONTEXT_JSON": json.dumps(context), "CDK_OUTDIR": str(directory)}
    before = _cpu()
    subprocess.run([sys.executable, "-m", "infra.app"], cwd=ROOT, env=environment, check=True, capture_output=True)
    seconds = _cpu() - before
    return seconds, {stack.name: json.loads(stack.template)["Resources"] for stack in assembly.stacks(directory)}


def touched(before: Mapping[str, Resources], after: Mapping[str, Resources]) -> dict[str, str]:
    """Return the resources that differ between two deployments, each with its type."""
    every = [(stack, name) for found in (before, after) for stack in found for name in found[stack]]
    pairs = {f"{stack}/{name}": (before.get(stack, {}).get(name), after.get(stack, {}).get(name)) for stack, name in every}
    return {name: str((new or old or {})["Type"]) for name, (old, new) in pairs.items() if _bare(old) != _bare(new)}


def section(directory: Path) -> Section:
    """Return the numbers for the report."""
    code = directory / "code"
    code.mkdir()
    (code / "shop.py").write_text(APPLICATION)
    runs = [synthesise(code, directory / f"run{number}") for number in range(ROUNDS + 1)]
    stacks = runs[-1][1]
    moved = Path(shutil.copytree(code, directory / "elsewhere"))
    same = touched(stacks, synthesise(moved, directory / "same")[1])
    (moved / "shop.py").write_text(APPLICATION.replace("return None", "return print('changed')"))
    changed = touched(stacks, synthesise(moved, directory / "changed")[1])
    counts = {name.rsplit("-", 1)[1]: len(found) for name, found in stacks.items()}
    whole, bytecode = layers(directory / "run1")
    return Section("A deployment", "production of a small application: two queues, a subscription, a periodic task; checked by cdk-nag", [
        Entry("synthesis, warm", statistics.median(seconds for seconds, _ in runs[1:]), "CPU s", Target(SYNTHESIS_TARGET)),
        Entry("resources of the largest stack", max(counts.values()), "", Target(MOST_RESOURCES), counts),
        Entry("touched by the same code in another place", len(same), "", Target(0)),
        Entry("touched by a change of code", len(changed), ""),
        Entry("of these, neither layer nor function", sum(kind not in CODE for kind in changed.values()), "", Target(0)),
        Entry("layer zipped, with Powertools", len(assembly.archive(whole)), "bytes", Target(WHOLE_LAYER_TARGET)),
        *[Entry("the layer of its bytecode, zipped", len(assembly.archive(one)), "bytes") for one in bytecode],
        Entry("the library's part, zipped", zipped(), "bytes", Target(LAYER_TARGET), {"unpacked": layer()}),
        cold.handler(directory / "cold"),
    ])  # fmt: skip


def layers(synthesised: Path) -> tuple[Path, list[Path]]:
    """Return the layer of the library, and that of its bytecode, or none if this machine lacks the functions' Python."""
    (whole,) = synthesised.glob("asset.*/python/sedano/__init__.py")
    return whole.parents[2], [one.parents[2] for one in synthesised.glob("asset.*/python/sedano/__pycache__")]


def proven(figures: Mapping[str, float]) -> Section:
    """Return the last figures of `make test-deploy` with their targets, and the names of missing figures."""
    shares = {"forbidden calls refused": 100 * (1 - figures[THROUGH] / figures[FORBIDDEN])} if FORBIDDEN in figures else {}
    known = {**figures, **shares}
    missing = ", ".join(name for name in PROMISED if name not in known)
    how = f"by `make test-deploy`{f'; run it to measure: {missing}' if missing else ''}"
    entries = [Entry(name, known[name], unit, target) for name, (unit, target) in PROMISED.items() if name in known]
    return Section("A deployment that can be trusted", how, entries)


def main() -> int:
    """Measure, print, and keep the other figures of the file."""
    began = time.monotonic()
    others = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    with tempfile.TemporaryDirectory() as scratch:
        found = [section(Path(scratch)), proven(others.get("trust", {}))]
    report.write(KEPT, found, time.monotonic() - began)
    KEPT.write_text(json.dumps({**others, **json.loads(KEPT.read_text())}, indent=1) + "\n")
    print(report.table(found))
    print(f"\nThe same as JSON: {KEPT.relative_to(ROOT)}")
    return 0


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _bare(found: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return a resource without the metadata of the tool that made it."""
    return None if found is None else {name: value for name, value in found.items() if name != "Metadata"}


if __name__ == "__main__":
    sys.exit(main())
