"""A real browser walks through every page of the demo's own stage, and makes every change: nothing on its console, no foreign request."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from examples.local_run.command import ROOT
from tests.ctrl_c import HEARS_CTRL_C
from tests.examples.demo_walk import LOOKS, act, look, walking
from tests.examples.test_demo import DEMO, NO_BROWSER
from tests.pipeline.browser import chromium, tool

CHROMIUM, PLAYWRIGHT = chromium(), tool("playwright.sync_api")


def variables(file: Path) -> dict[str, str]:
    """Return the environment with the variables of a stage, as a shell reads them from *file*."""
    shown = subprocess.run(["sh", "-c", '. "$0"; env -0', str(file)], capture_output=True, text=True, check=True).stdout
    return {**os.environ, **dict(line.split("=", 1) for line in shown.split("\0") if "=" in line)}


@pytest.mark.slow
@pytest.mark.ministack
def test_a_person_looks_at_every_page_of_the_demo_and_makes_every_change(tmp_path: Path) -> None:
    command = [*HEARS_CTRL_C, *DEMO, "--files", "6", "--build", str(tmp_path / "demo"), "--keep"]
    with subprocess.Popen(command, cwd=ROOT, env=NO_BROWSER, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        try:
            assert running.stdout
            address = next(line.strip() for line in running.stdout if line.startswith("http://"))
            stage = [sys.executable, "-m", "tests.examples.demo_stage"]
            subprocess.run(stage, cwd=ROOT, env=variables(tmp_path / "demo" / "stage" / "environment"), check=True, timeout=120)
            with walking(address) as walk:
                seen = look(walk, tmp_path)
                act(walk)
                assert walk.wrong == []
        finally:
            running.send_signal(signal.SIGINT)
    assert running.returncode == 0
    assert len(list(tmp_path.glob("*.png"))) == seen * len(LOOKS)
