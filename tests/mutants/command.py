"""The command `python -m tests.mutants`: the targets in turn, and what they say together.

A target of conditional writes has a process of its own. All others are judged in one process, by the judges of all of them together: each
judge is rehearsed once, and what a story about limits notices of the worker counts.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.mutants import typing_judge
from tests.mutants.children import KILLED, SURVIVED, UNPLANTED, UNREACHED, Verdict
from tests.mutants.judging import Judges
from tests.mutants.mutant import Key, Mutant
from tests.mutants.results import Results
from tests.mutants.targets import BY_NAME, PLANTED, ROOT, TARGETS, Target

BUILD = ROOT / "build" / "mutants"
COUNTS = ("mutants", "killed", "survived", "equivalent", "not_run")


def arguments(given: Sequence[str]) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description="Change the code of sedano; do its tests notice?")
    parser.add_argument("--minutes", type=float, default=None, help="end after this time; the mutants are drawn by the seed (default: all)")
    parser.add_argument("--most", type=int, default=None, help="so many mutants of each target, drawn by the seed")
    parser.add_argument("--seed", type=int, default=20261120)
    parser.add_argument("--target", action="append", default=[], choices=BY_NAME, help="one target alone; may be repeated")
    parser.add_argument("--place", action="append", default=[], help="only mutants whose module or place contains this; may be repeated")
    parser.add_argument("--equivalents", default="tests.mutants.equivalents", help="the module whose EQUIVALENT names mutants with reasons")
    parser.add_argument("--build", type=Path, default=BUILD, help="where summary.json is written")
    parser.add_argument("--quick", action="store_true", help="without the late judges: tests on moto and tests of more than a second")
    parser.add_argument("--list", action="store_true", help="list the targets and how many mutants each has")
    return parser.parse_args(given)


def main(asked: argparse.Namespace) -> int:
    """Run the campaign and return the exit status: 1 when a mutant survived, or a named equivalent is none."""
    names = asked.target or [target.name for target in TARGETS if target.name != PLANTED]
    if asked.list:
        print("\n".join(f"{name:14} {len(BY_NAME[name].mutants()):5}  {', '.join(BY_NAME[name].modules)}" for name in names))
        return 0
    asked.build.mkdir(parents=True, exist_ok=True)
    groups = _groups(names)
    if len(groups) == 1:
        told = [Campaign([BY_NAME[name] for name in names], asked, importlib.import_module(asked.equivalents).EQUIVALENT).run()]
    else:
        told = list(_in_turns(groups, asked))
    summary = summed(told)
    (asked.build / "summary.json").write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
    if not asked.place:
        tabled(asked.build / "table.json", summary["by_target"])
    print(", ".join(f"{summary[name]} {name.replace('_', ' ')}" for name in COUNTS) + f": {asked.build}/summary.json", flush=True)
    return 1 if summary["survived"] or summary["errors"] else 0


def tabled(path: Path, rows: Mapping[str, Mapping[str, int]]) -> None:
    """Put the counts of these targets into the table at *path*, which keeps those of the targets that an earlier run judged."""
    known = json.loads(path.read_text()) if path.exists() else {}
    known |= rows
    path.write_text(json.dumps({name: known[name] for name in BY_NAME if name in known}, indent=1) + "\n")


def _groups(names: Sequence[str]) -> list[list[str]]:
    """Return the targets that are judged in one process."""
    apart = [[name] for name in names if BY_NAME[name].of_writes()]
    together = [name for name in names if not BY_NAME[name].of_writes()]
    return [*([together] if together else []), *apart]


def _in_turns(groups: Sequence[Sequence[str]], asked: argparse.Namespace) -> Any:
    """Run each group of targets in a process of its own, with its share of the time that is left."""
    until = time.monotonic() + asked.minutes * 60 if asked.minutes is not None else None
    counts = [sum(len(BY_NAME[name].mutants()) for name in names) for names in groups]
    for index, names in enumerate(groups):
        build = asked.build / names[0]
        given = [part for name in names for part in ("--target", name)]
        given += ["--seed", str(asked.seed), "--build", str(build), "--equivalents", asked.equivalents]
        given += [part for place in asked.place for part in ("--place", place)]
        given += ["--most", str(asked.most)] if asked.most is not None else []
        given += ["--quick"] if asked.quick else []
        if until is not None:
            share = counts[index] / sum(counts[index:])
            given += ["--minutes", str(max(until - time.monotonic(), 0) * share / 60)]
        status = subprocess.run([sys.executable, "-m", "tests.mutants", *given], check=False, cwd=ROOT).returncode
        if status not in (0, 1):
            nothing: dict[str, Any] = {"by_target": {}, "by_module": {}, "survivors": []}
            yield dict.fromkeys(COUNTS, 0) | nothing | {"errors": [f"{names[0]}: no judges were collected"]}
            continue
        yield json.loads((build / "summary.json").read_text())


@dataclass
class Campaign:
    """The mutants of some targets before the judges of all of them."""

    targets: Sequence[Target]
    asked: argparse.Namespace
    equivalent: Mapping[Key, str]
    verdicts: dict[Key, Verdict] = field(default_factory=dict)
    mutants: list[Mutant] = field(default_factory=list)
    red: list[str] = field(default_factory=list)

    def run(self) -> dict[str, Any]:
        """Judge the mutants and return the figures."""
        began = time.monotonic()
        until = began + self.asked.minutes * 60 if self.asked.minutes is not None else float("inf")
        self.mutants = [one for target in self.targets for one in target.mutants() if self._asked(one.module, one.place)]
        drawn = list(self.mutants)
        if self.asked.most is not None or until < float("inf"):
            random.Random(self.asked.seed).shuffle(drawn)
        drawn = drawn[: self.asked.most]
        files = [*dict.fromkeys(file for target in self.targets for file in target.files())]
        paths = {module: str(importlib.import_module(module).__file__) for module in {mutant.module for mutant in self.mutants}}
        results = Results(self.asked.build / "results.jsonl", files)
        with os.fdopen(os.dup(1), "w") as out:
            each = partial(self._each, drawn=drawn, paths=paths, results=results, until=until, out=out)
            judges = Judges(paths.values(), each, moto_is_late=not self.targets[0].of_writes())
            quiet = ["-q", "--disable-warnings", "-p", "no:cacheprovider"]
            pytest.main([*files, *quiet, "-m", "not ministack", f"--hypothesis-seed={self.asked.seed}"], plugins=[judges])
        if not judges.items:
            raise SystemExit(f"{self.targets[0].name}: no judges were collected")
        self.red = [f"a judge is red without any mutant, and was left out; make it green: {one}" for one in judges.red]
        return self.figures(time.monotonic() - began)

    def _each(self, judges: Judges, *, drawn: Sequence[Mutant], paths: Mapping[str, str], results: Results, until: float, out: Any) -> None:
        """Let the early judges see every mutant that has no result yet, then mypy and the late judges those that survive."""
        results.judged_by(judges.items)
        for late in (False,) if self.asked.quick else (False, True):
            self.verdicts |= {one.key: known for one in drawn if (known := results.known(one, late)) is not None}
            left = [one for one in drawn if self._is_left(one, late, results)]
            if left:
                judges.rehearse(late=late)
            for number, mutant in enumerate(left, 1):
                if time.monotonic() > until:
                    return
                verdict = judges.judge(mutant, paths[mutant.module], late=late)
                verdict = self.verdicts[mutant.key] if late and verdict.status == UNREACHED else verdict
                self.verdicts[mutant.key] = verdict
                results.keep(mutant, verdict, late)
                if verdict.status != KILLED and mutant.key not in self.equivalent:
                    print(f"{number}/{len(left)} {verdict.status}: {mutant}", file=out, flush=True)
                elif number % 100 == 0:
                    print(f"{number}/{len(left)}", file=out, flush=True)
            if not late:
                self._typed(drawn, results)

    def _typed(self, drawn: Sequence[Mutant], results: Results) -> None:
        """Let mypy see those that survive."""
        left = [one for one in drawn if one.key in self.verdicts and self.verdicts[one.key].status in (SURVIVED, UNREACHED)]
        for mutant, verdict in typing_judge.refused(left, self.asked.build / "typed"):
            self.verdicts[mutant.key] = verdict
            results.keep(mutant, verdict, late=False)

    def _is_left(self, mutant: Mutant, late: bool, results: Results) -> bool:
        verdict = self.verdicts.get(mutant.key)
        if not late:
            return verdict is None
        return verdict is not None and verdict.status != KILLED and results.known(mutant, late=True) is None

    def figures(self, seconds: float) -> dict[str, Any]:
        """Return the counts, by module too, the survivors, and what is wrong with the list of equivalents."""
        by_module: dict[str, Counter[str]] = {}
        for mutant in self.mutants:
            by_module.setdefault(mutant.module, Counter(dict.fromkeys(COUNTS, 0))).update(["mutants", self._class(mutant)])
        survivors = [mutant for mutant in self.mutants if self._class(mutant) == "survived"]
        rows = {target.name: [by_module[name] for name in target.names() if name in by_module] for target in self.targets}
        return {
            **sum(by_module.values(), Counter()),
            "seconds": round(seconds, 1),
            "by_target": {name: {one: sum(counts[one] for counts in row) for one in COUNTS} for name, row in rows.items()},
            "by_module": {module: dict(counts) for module, counts in by_module.items()},
            "survivors": [{"line": one.line, "key": one.key, "status": self.verdicts[one.key].status} for one in survivors],
            "errors": self.red + self._wrong(),
            "verdicts": [[*one.key, *self._said(one)] for one in self.mutants if one.key in self.verdicts],
        }

    def _asked(self, module: str, place: str) -> bool:
        return not self.asked.place or any(part in f"{module} {place}" for part in self.asked.place)

    def _said(self, mutant: Mutant) -> list[str]:
        verdict = self.verdicts[mutant.key]
        return [verdict.status, verdict.judge, verdict.why]

    def _class(self, mutant: Mutant) -> str:
        verdict = self.verdicts.get(mutant.key)
        if verdict is None:
            return "not_run"
        if verdict.status == UNPLANTED:
            return UNPLANTED
        return "killed" if verdict.status == KILLED else "equivalent" if mutant.key in self.equivalent else "survived"

    def _wrong(self) -> list[str]:
        """Return the entries of the list of equivalents that are none."""
        modules, known = {one.module for one in self.mutants}, {one.key for one in self.mutants}
        own = [key for key in self.equivalent if key[0] in modules and self._asked(key[0], key[1])]
        gone = [f"no mutant is named so any more; take it off the list of equivalents: {key}" for key in own if key not in known]
        killed = [key for key in own if key in self.verdicts and self.verdicts[key].status == KILLED]
        unplanted = [f"cannot be planted: {one}: {self.verdicts[one.key].why}" for one in self.mutants if self._class(one) == UNPLANTED]
        return gone + unplanted + [f"named equivalent but killed by {self.verdicts[key].judge}: {key}" for key in killed]


def summed(told: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures of all targets together."""
    whole: dict[str, Any] = {name: sum(one.get(name, 0) for one in told) for name in COUNTS}
    for name in ("by_target", "by_module"):
        whole[name] = {key: counts for one in told for key, counts in one[name].items()}
    for name in ("survivors", "errors", "verdicts"):
        whole[name] = [entry for one in told for entry in one.get(name, ())]
    for error in whole["errors"]:
        print(error)
    return whole
