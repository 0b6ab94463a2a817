"""Sixteen operating-system processes fight over one lease on a real endpoint, and some are killed: its promises hold."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sedano.local import LocalStage
from tests.plugins.resources import Resources

ROOT = Path(__file__).parents[2]
PROCESSES, KILLED, SECONDS = 16, 6, 20.0
PRIZE = "prize"


def fighter(stage: LocalStage, resources: Resources, number: int, seconds: float) -> "subprocess.Popen[str]":
    """Start one process."""
    tables = [resources.settings["SEDANO_CONTROL_TABLE"], resources.settings["SEDANO_LEDGER_TABLE"]]
    path = os.pathsep.join([str(ROOT / "layers" / "sedano" / "python"), str(ROOT)])
    environment = {**os.environ, **stage.environment, "PYTHONPATH": path}
    command = [sys.executable, "-m", "tests.deploy.fighter", *tables, PRIZE, str(seconds), str(number)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def told(output: str) -> Iterator[dict[str, Any]]:
    """What a process said; the last line of a killed one may be broken off."""
    for line in output.splitlines():
        if line.endswith("}"):
            yield json.loads(line)


@pytest.fixture
def history(ministack: LocalStage, ministack_resources: Resources) -> list[list[dict[str, Any]]]:
    """What each process told."""
    running = [fighter(ministack, ministack_resources, number, SECONDS) for number in range(PROCESSES)]
    for process in running:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["kind"] == "ready"
    for victim in running[:KILLED]:  # real time is the subject here, not a means to wait for something
        time.sleep(SECONDS / (KILLED + 4))
        victim.kill()
    outputs = [process.communicate(timeout=60)[0] for process in running]
    assert [process.returncode for process in running[KILLED:]] == [0] * (PROCESSES - KILLED)
    return [list(told(output)) for output in outputs]


def beliefs(history: Iterable[list[dict[str, Any]]]) -> dict[int, tuple[float, float]]:
    """From when to when each token's holder believed, on the machine's one monotonic clock."""
    found: dict[int, tuple[float, float]] = {}
    for lines in history:
        for line in lines:
            if line["kind"] == "held":
                found[line["token"]] = (line["begun"], line["until"])
            elif line["kind"] == "over":
                begun, until = found[line["token"]]
                found[line["token"]] = (begun, min(until, line["at"]))
    return found


@pytest.mark.ministack
def test_the_promises_hold(history: list[list[dict[str, Any]]], ministack_resources: Resources) -> None:
    resources = ministack_resources
    holders = Counter(token for lines in history for token in {line["token"] for line in lines if line["kind"] == "held"})
    assert set(holders.values()) == {1}, "I1: a token was granted twice"
    spans = sorted(beliefs(history).values())
    assert all(until <= begun for (_, until), (begun, _) in pairwise(spans)), "I3: two believed at a time"
    client = resources.session.client("dynamodb", endpoint_url=resources.endpoint_url)
    found = client.get_item(TableName=resources.settings["SEDANO_LEDGER_TABLE"], Key={"pk": {"S": PRIZE}}, ConsistentRead=True)
    written = [int(token["N"]) for token in found["Item"]["written"]["L"]]
    assert written == sorted(written), "I2: a write was accepted below the highest token"
    kinds = Counter(line["kind"] for lines in history for line in lines)
    print(f"terms {len(holders)}, {dict(kinds)}")
    assert len(holders) >= 5, kinds
    assert kinds["written"] >= 3, kinds
