"""No input breaks a promise: some forty seconds of the fuzzer, the same run each time; and faults that are planted are found."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.fuzz.faults import FAULTS
from tests.fuzz.mutation import RAW, Mutator
from tests.fuzz.targets import every

ROOT = Path(__file__).resolve().parents[2]
EXECUTIONS = 60_000
"""About forty seconds of CPU."""
SEED = 20261120


def fuzzed(folder: Path, *arguments: str, plant: str = "") -> tuple[int, dict[str, Any], str]:
    """Run the fuzzer in a process of its own, with the fault *plant*; return its status, its summary and what it printed."""
    command = [sys.executable, "-m", "tests.fuzz", "--seed", str(SEED), "--build", str(folder), *arguments]
    command += ["--plant", plant] if plant else []
    environment = {**os.environ, "PYTHONHASHSEED": "0", "SEDANO_FUZZ_PLANT": plant}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    summary = folder / "summary.json"
    assert summary.exists(), run.stdout + run.stderr
    return run.returncode, json.loads(summary.read_text()), run.stdout


@cache
def names() -> tuple[str, ...]:
    """Return the names of all targets."""
    listed = subprocess.run([sys.executable, "-m", "tests.fuzz", "--list"], cwd=ROOT, capture_output=True, text=True, check=True)
    return tuple(listed.stdout.split())


def test_each_target_has_a_name_of_its_own() -> None:
    assert len(names()) == len({target.name for target in every()}) == len(every()), "of two with one name only the later one is fuzzed"


@pytest.mark.slow
def test_no_input_breaks_a_promise(tmp_path: Path) -> None:
    status, summary, printed = fuzzed(tmp_path, "--executions", str(EXECUTIONS))
    assert (status, summary["escapes"]) == (0, 0), printed
    assert set(summary["targets"]) == set(names())
    assert summary["executions"] >= EXECUTIONS * 0.99
    for target, figures in summary["targets"].items():
        assert figures["edges"] > 0, f"{target} reached nothing"
        assert figures["slowest_ms"] <= figures["most_ms"], f"{target} took {figures['slowest_ms']} ms"
        assert figures["peak_bytes"] <= 64 * 1_048_576, target


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, tmp_path: Path) -> None:
    status, summary, printed = fuzzed(tmp_path, "--target", FAULTS[fault].target, "--executions", "20000", plant=fault)
    assert status == 1, printed
    assert summary["escapes"] > 0
    kept = sorted((tmp_path / "escapes").iterdir())
    assert kept, "an escape is written down, to be replayed"


def test_an_escape_can_be_replayed(tmp_path: Path) -> None:
    fault = "arguments are not looked at"
    fuzzed(tmp_path, "--target", FAULTS[fault].target, "--executions", "3000", plant=fault)
    kept = [str(path) for path in sorted((tmp_path / "escapes").iterdir())]
    planted = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", "--plant", fault, "replay", *kept], cwd=ROOT, capture_output=True, text=True, check=False
    )  # fmt: skip
    mended = subprocess.run([sys.executable, "-m", "tests.fuzz", "replay", *kept], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (planted.returncode, mended.returncode) == (1, 0), planted.stdout + mended.stdout


def test_a_seed_repeats_a_run(tmp_path: Path) -> None:
    told = []
    for folder in ("one", "two"):
        _, summary, _ = fuzzed(tmp_path / folder, "--executions", "1500", "--target", "message", "--target", "stream", "--target", "router")
        told.append({name: (figures["executions"], figures["edges"], figures["corpus"]) for name, figures in summary["targets"].items()})
    assert told[0] == told[1]


def test_an_input_with_many_marks_is_written_in_one_pass() -> None:
    marks = [f"\x00raw:{raw}" for raw in RAW]
    many = 200_000 // len(RAW)  # a pass for each mark takes an hour
    assert Mutator(Random(1))._dumped([*marks, "x"] * many) == "[" + ",".join([*RAW, '"x"'] * many) + "]"
