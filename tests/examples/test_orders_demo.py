"""The demo of orders as a command: a few orders on a real endpoint that enforces IAM."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from examples.local_run.command import ROOT
from tests.examples.processes import interrupted

DEMO = [sys.executable, "-m", "examples.orders.demo"]


@pytest.mark.slow
@pytest.mark.ministack
def test_a_few_orders_reach_analytics_once_with_their_stock_and_their_trace(tmp_path: Path) -> None:
    done = subprocess.run([*DEMO, "--orders", "12", "--build", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads((tmp_path / "summary.json").read_text())
    promised = {"orders": 12, "lost": 0, "doubled": 0, "half_effects": 0, "documents": 36, "traces_broken": 0}
    assert {name: summary[name] for name in promised} == promised
    assert (summary["requests"], summary["crm_forged"]) == (14, 0)
    assert summary["crm_turned_away"] >= 1
    assert summary["crm_accepted"] >= 12
    assert summary["duplicates_injected"] >= 1
    assert summary["dollars_a_thousand_orders"] > 0
    assert "AccessDenied" not in (tmp_path / "stage" / "endpoint.log").read_text(), "each role suffices"
    assert "Nothing was lost or doubled, no effect was half, and each trace is one tree." in done.stdout


@pytest.mark.slow
@pytest.mark.ministack
def test_ctrl_c_ends_it_while_the_shop_posts_and_all_that_it_started(tmp_path: Path) -> None:
    rest, started, left = interrupted([*DEMO, "--orders", "2000", "--build", str(tmp_path)], "the shop posts")
    assert any("ministack" in command for command in started)
    assert "everything that was started is stopped" in rest
    assert left == []
