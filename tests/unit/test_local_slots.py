"""Stages beside one another: each has a directory of its own until its process has ended."""

import subprocess
import sys
from pathlib import Path

import pytest

from sedano.local import LocalStageError
from sedano.local.stage_directories import MOST, claim
from sedano.local.synthesis import ROOT

HOLDER = """
import sys
from pathlib import Path
from sedano.local.stage_directories import claim
slot = claim(Path(sys.argv[1]))
print(slot.path, flush=True)
sys.stdin.read()
"""


def test_the_second_stage_in_a_directory_has_one_of_its_own(tmp_path: Path) -> None:
    first, second = claim(tmp_path), claim(tmp_path)
    assert (first.path, second.path) == (tmp_path, tmp_path / "beside-2")
    first.release()
    first.release()
    assert claim(tmp_path).path == tmp_path, "what was given back is taken again"


def test_a_place_of_another_process_is_free_once_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    environment = {"PYTHONPATH": str(ROOT / "layers" / "sedano" / "python")}
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline().strip() == str(tmp_path)
        beside = claim(tmp_path)
        assert beside.path != tmp_path
        holder.kill()
    assert claim(tmp_path).path == tmp_path


def test_a_directory_with_too_many_stages_says_so(tmp_path: Path) -> None:
    held = [claim(tmp_path) for _ in range(MOST)]
    assert len({slot.path for slot in held}) == MOST
    with pytest.raises(LocalStageError, match="stop one, or name another directory with --directory"):
        claim(tmp_path)
