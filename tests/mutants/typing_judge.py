"""The last early judge: `mypy --strict`, which every commit passes. A change that it refuses never runs.

All survivors are checked together, each as a copy of its module with the change in it, beside one copy without any change: what mypy says
of that one is said of the others too and does not count. A condition that always or never holds makes code unreachable; that is how the
change is written down, and does not count either.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.mutants.children import KILLED, Verdict
from tests.mutants.mutant import Mutant

NAME = "mypy --strict"
ROOT = Path(__file__).resolve().parents[2]
SETTINGS = ROOT / "pyproject.toml"
MOST = 400
"""The copies of one run of mypy, which are in memory together."""
_SHAPE = ("[unreachable]", "[redundant-expr]")
_FINDING = re.compile(r"^(?P<file>[^:]+\.py):\d+: error: (?P<what>.*)$")


def refused(mutants: Sequence[Mutant], folder: Path) -> Iterator[tuple[Mutant, Verdict]]:
    """Yield those of *mutants* that mypy refuses, with its words. The copies of their modules are in *folder*."""
    typed = [mutant for mutant in mutants if mutant.write is not None]
    for first in range(0, len(typed), MOST):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        yield from _refused(typed[first : first + MOST], folder)


def _refused(mutants: Sequence[Mutant], folder: Path) -> Iterator[tuple[Mutant, Verdict]]:
    own = {mutant.module: f"whole_{number}" for number, mutant in enumerate(mutants)}
    texts = {f"changed_{number}": mutant.write() for number, mutant in enumerate(mutants) if mutant.write is not None}
    texts |= {own[mutant.module]: mutant.write(changed=False) for mutant in mutants if mutant.write is not None}
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    found = _found(folder, texts)
    for number, mutant in enumerate(mutants):
        new = found[f"changed_{number}"] - found[own[mutant.module]]
        if new.total() and found[f"changed_{number}"].total() > found[own[mutant.module]].total():
            yield mutant, Verdict(KILLED, NAME, min(new))


def _found(folder: Path, names: Mapping[str, str]) -> dict[str, Counter[str]]:
    """Return what mypy says of each of the files, without their names and lines."""
    asked = ["--config-file", str(SETTINGS), "--no-error-summary", "--hide-error-context", *(f"{folder}/{name}.py" for name in names)]
    run = subprocess.run([sys.executable, "-m", "mypy", *asked], cwd=ROOT, capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):
        raise SystemExit(f"mypy cannot check the mutants: {run.stdout}{run.stderr}")
    found: dict[str, Counter[str]] = {name: Counter() for name in names}
    for line in run.stdout.splitlines():
        one = _FINDING.match(line)
        if one is not None and not one["what"].endswith(_SHAPE) and Path(one["file"]).stem in found:
            found[Path(one["file"]).stem][re.sub(r"(?:\w+\.)*(?:changed|whole)_\d+", "M", one["what"])] += 1
    return found
