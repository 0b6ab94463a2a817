"""Keep measured figures for the documents: `benchmarks/results/NAME.json`, which `tests/docs/test_figures.py` compares with each page.

    python -m benchmarks.kept canvas flow           # from build/bench/canvas.json and flow.json, as `make bench` wrote them
    python -m benchmarks.kept proof=build/prove/summary.json

A file of results lists the figures that documents use, and nothing else. This command replaces their values, the date, and the commit; to
add a figure, write its name with the value null first. The name of a figure is the name of its entry in the report, with `: more` for a
further value of the entry; in any other JSON it is the path to the number, with dots.
"""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
REPORTS = ROOT / "build" / "bench"


def figures(report: Mapping[str, Any]) -> dict[str, tuple[float, str]]:
    """Return every figure of a *report*, by its name: its value and its unit."""
    if "sections" not in report:
        return {name: (value, "") for name, value in _flat(report, ())}
    found: dict[str, tuple[float, str]] = {}
    for entry in (entry for section in report["sections"] for entry in section["entries"]):
        found[entry["name"]] = (entry["value"], entry["unit"])
        found.update({f"{entry['name']}: {name}": (value, "") for name, value in entry["more"].items()})
    return found


def refreshed(kept: Mapping[str, Any], report: Mapping[str, Any], date: str, commit: str) -> dict[str, Any]:
    """Return the *kept* results with the values of *report*.

    Raises:
        ValueError: the report lacks a figure that is kept.
    """
    measured = figures(report)
    if missing := sorted(set(kept["figures"]) - set(measured)):
        raise ValueError(
            f"the report has no figure {', '.join(map(repr, missing))}: measure it, or remove it from the results and the pages"
        )
    found = {name: {"value": measured[name][0], "unit": measured[name][1]} for name in kept["figures"]}
    return {**kept, "date": date, "commit": commit, "figures": found}


def keep(name: str, report: Path, directory: Path = RESULTS) -> None:
    """Replace the values of the results *name* in *directory* with those of the file *report*."""
    path = directory / f"{name}.json"
    kept = json.loads(path.read_text(encoding="utf-8"))
    measured = json.loads(report.read_text(encoding="utf-8"))
    date = dt.datetime.fromtimestamp(report.stat().st_mtime, dt.UTC).date().isoformat()
    write(path, refreshed(kept, measured, date, _commit()))


def write(path: Path, kept: Mapping[str, Any]) -> None:
    """Write results, one figure on each line."""
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(figure)}" for name, figure in kept["figures"].items())
    head = "".join(f" {json.dumps(name)}: {json.dumps(value)},\n" for name, value in kept.items() if name != "figures")
    path.write_text(f'{{\n{head} "figures": {{\n{lines}\n }}\n}}\n', encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Refresh the named results; without names, print the existing ones."""
    asked = sys.argv[1:] if arguments is None else arguments
    names = sorted(path.stem for path in RESULTS.glob("*.json"))
    if not asked or any(one.partition("=")[0] not in names for one in asked):
        print(f"python -m benchmarks.kept NAME[=REPORT]…: a NAME is one of {', '.join(names)}", file=sys.stderr)
        return 2
    for one in asked:
        name, _, report = one.partition("=")
        try:
            keep(name, Path(report) if report else REPORTS / f"{name}.json")
        except (OSError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 1
    return 0


def _flat(part: Any, path: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    if isinstance(part, Mapping):
        for name, inner in part.items():
            yield from _flat(inner, (*path, str(name)))
    elif isinstance(part, int | float) and not isinstance(part, bool):
        yield ".".join(path), float(part)


def _commit() -> str:
    """Return the commit that is checked out, with a plus when files differ from it."""
    said = subprocess.run(["git", "describe", "--always", "--dirty=+", "--exclude=*"], cwd=ROOT, capture_output=True, text=True, check=True)
    return said.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
