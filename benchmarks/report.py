"""The results as JSON and as a table. A number that misses its target is listed like the others."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

BUILD = Path(__file__).resolve().parents[1] / "build" / "bench"


@dataclass(frozen=True, slots=True)
class Target:
    """A target of the design: at *most* or at *least* this *value*."""

    value: float
    kind: Literal["most", "least"] = "most"

    def met(self, value: float) -> bool:
        """Return whether *value* meets it."""
        return value <= self.value if self.kind == "most" else value >= self.value

    def __str__(self) -> str:
        """Return it as text."""
        return f"{'≤' if self.kind == 'most' else '≥'} {_shown(self.value)}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One number: its name, its *unit*, its target (None: it is only listed), and *more* values that explain it."""

    name: str
    value: float
    unit: str
    target: Target | None = None
    more: Mapping[str, float] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """Met, missed, or empty without a target."""
        return "" if self.target is None else "met" if self.target.met(self.value) else "MISSED"


@dataclass(frozen=True, slots=True)
class Section:
    """Entries that belong together, and how they were measured."""

    title: str
    how: str
    entries: Sequence[Entry]


def write(path: Path, sections: Sequence[Section], seconds: float) -> None:
    """Write everything as JSON."""
    machine = {"python": platform.python_version(), "machine": platform.machine(), "cpus": os.cpu_count(), "load": os.getloadavg()[0]}
    told = [{**asdict(section), "entries": [{**asdict(e), "verdict": e.verdict} for e in section.entries]} for section in sections]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine, "seconds": round(seconds, 1), "sections": told}, indent=1) + "\n")


def measure_alone(name: str, words: str, span: str, measured: Callable[[bool], Section], given: Sequence[str] | None) -> Section:
    """Run the benchmark *name* as a program of its own, which *words* describe, and return its section after it is written and printed.

    *measured* gets whether `--full` is among the arguments *given*; *span* says how long that takes.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=words)
    parser.add_argument("--full", action="store_true", help=f"at the promised size: {span}")
    began = time.monotonic()
    found = measured(parser.parse_args(given).full)
    write(BUILD / f"{name}.json", [found], time.monotonic() - began)
    print(table([found]))
    return found


def write_summary(path: Path, figures: Mapping[str, object]) -> None:
    """Write *figures* as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(figures, indent=1) + "\n")


def table(sections: Sequence[Section]) -> str:
    """Return everything as a table."""
    lines = []
    for section in sections:
        lines += ["", section.title, f"  {section.how}"]
        lines += [_line(entry) for entry in section.entries]
    return "\n".join(lines)


def _line(entry: Entry) -> str:
    target = "" if entry.target is None else str(entry.target)
    more = "  ".join(f"{name} {_shown(value)}" for name, value in entry.more.items())
    return f"    {entry.name:<49}{_shown(entry.value):>9} {entry.unit:<8}{target:>11} {entry.verdict:<7}{more}".rstrip()


def _shown(value: float) -> str:
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}".replace(",", " ")
    return f"{value:.3g}" if abs(value) < 10 else f"{value:.1f}"
