"""A proof that is cut goes on where it stopped, its sums are those of its pieces, and what was played with other code is not counted."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation import prove
from tests.simulation.notebook import Notebook
from tests.simulation.pieces import FIRST, WORK, WORLDS, Piece, chunks, done, mixed, pieces
from tests.simulation.sizes import RELEASE
from tests.simulation.sources import LIBRARY, sources
from tests.simulation.summary import summed

PLAYED = [Piece("play", (world, 1, 6)) for world in ("claims", "leases", "elections")]
SAME: dict[str, str] = {}
"""What nothing depends on."""
FAULT = "task: CLAIM without a condition"
ROOT = Path(__file__).resolve().parents[2]
DIGESTS = """
import json
from tests.simulation.pieces import WORLDS
print(json.dumps({name: [world(seed).run().digest() for seed in range(4)] for name, world in WORLDS.items()}))
"""


def test_a_seed_decides_everything_in_every_world() -> None:
    told = []
    for hash_seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        run = subprocess.run([sys.executable, "-c", DIGESTS], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        told.append(json.loads(run.stdout))
    assert told[0] == told[1] == told[2]
    assert set(told[0]) == set(WORLDS)


def test_what_was_done_before_is_not_done_again(tmp_path: Path) -> None:
    first = Notebook(tmp_path / "pieces.jsonl", SAME)
    first.add(PLAYED[0].key, done(PLAYED[0])[1])
    first.close()
    again = Notebook(tmp_path / "pieces.jsonl", SAME)
    assert prove.Proof(PLAYED, again).left == PLAYED[1:]


def test_a_line_that_was_cut_in_the_middle_is_left_out_and_the_file_goes_on_behind_the_others(tmp_path: Path) -> None:
    path = tmp_path / "pieces.jsonl"
    first = Notebook(path, {})
    first.add("one", {"n": 1})
    first.close()
    with path.open("a") as file:
        file.write('["two", {"n"')
    second = Notebook(path, {})
    second.add("three", {"n": 3})
    second.close()
    assert Notebook(path, {}).known == {"one": {"n": 1}, "three": {"n": 3}}


def test_what_was_played_with_other_code_is_forgotten_and_the_rest_is_kept(tmp_path: Path) -> None:
    first = Notebook(tmp_path / "pieces.jsonl", {"one": "this code", "two": "this code"})
    first.add("one", {"n": 1})
    first.add("two", {"n": 2})
    first.close()
    assert Notebook(tmp_path / "pieces.jsonl", {"one": "this code", "two": "other code"}).known == {"one": {"n": 1}}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of everything that pieces depend on."""
    copy = tmp_path_factory.mktemp("copy")
    for part in ("tests", LIBRARY, "requirements"):
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def _changed(copy: Path, file: str) -> set[str]:
    """The pieces, by world or kind of work, of which the source changes with *file*."""
    wanted = pieces(RELEASE, 0.0001)
    before = sources(wanted, copy)
    with (copy / file).open("a") as text:
        text.write("\n# changed\n")
    after = sources(wanted, copy)
    return {" ".join(key.split()[:2]) if key.startswith("play") else key.split()[0] for key in after if after[key] != before[key]}


def test_a_change_of_one_world_plays_that_world_and_looks_for_planted_faults_again_and_nothing_else(copy: Path) -> None:
    assert _changed(copy, "tests/simulation/partitions.py") == {"play partitions", "kill"}
    assert _changed(copy, "tests/simulation/prove.py") == set()


def test_a_change_of_what_worlds_share_plays_all_of_them_again(copy: Path) -> None:
    assert _changed(copy, "tests/simulation/world.py") >= {"kill", *(f"play {world}" for world in set(WORLDS) - {"canvases"})}


def test_a_change_of_the_library_or_of_what_is_pinned_does_everything_again(copy: Path) -> None:
    everything = {*WORK, *(f"play {world}" for world in WORLDS)} - {"play"}
    assert _changed(copy, f"{LIBRARY}/model/lease.py") == everything
    assert _changed(copy, "requirements/dev.txt") == everything


def test_the_sums_are_those_of_the_pieces(tmp_path: Path) -> None:
    notebook = Notebook(tmp_path / "pieces.jsonl", SAME)
    wanted = [*PLAYED, Piece("kill", (FAULT, 500, 100)), Piece("play", ("claims", 7, 6))]
    for piece in wanted[:-1]:
        notebook.add(piece.key, done(piece)[1])
    summary = prove.Proof(wanted, notebook).say()
    assert json.loads((tmp_path / "summary.json").read_text()) == summary
    assert summary["schedules"] == 18
    assert not summary["complete"]
    assert summary["worlds"]["claims"]["schedules"] == 6
    assert summary["simulated_hours"] > 0
    faults = summary["planted_faults"]
    assert (faults["planted"], faults["blocks_played"], faults["killed_in_every_block"], faults["survivors"]) == (1, 1, 1, {})
    assert 1 <= faults["schedules_needed"]["most"] <= 100
    assert summary["broken"] == []


def test_a_piece_that_cannot_be_done_is_told_and_tried_again_and_costs_the_others_nothing(tmp_path: Path) -> None:
    notebook = Notebook(tmp_path / "pieces.jsonl", SAME)
    wanted = [Piece("search", ("no such world",)), PLAYED[0]]
    proof = prove.Proof(wanted, notebook)
    proof.run()
    summary = proof.say()
    assert summary["broken"] == ["could not be done: search no such world: KeyError: 'no such world'"]
    assert summary["worlds"]["claims"]["schedules"] == 6
    assert not summary["complete"]
    assert proof.left == wanted[:1]


def test_a_broken_promise_is_in_the_sums_and_so_is_a_fault_that_survives() -> None:
    wanted = [PLAYED[0], Piece("kill", (FAULT, 500, 100))]
    one = {"schedules": 6, "seconds": 1.0, "faults": {}, "branches": {}, "violations": {"3": "E1: two effects"}, "cpu": 1.0}
    known = {wanted[0].key: one, wanted[1].key: {"after": None, "cpu": 1.0}}
    assert summed(known, wanted, 1.0)["broken"] == ["claims 3: E1: two effects", f"survives 1 blocks: {FAULT}"]


def test_each_schedule_is_played_once_and_a_run_that_is_cut_has_some_of_every_world() -> None:
    found = mixed([chunks("claims", 10_500), chunks("leases", 2_000)])
    seeds = sorted(seed for piece in found if piece.given[0] == "claims" for seed in range(piece.given[1], sum(piece.given[1:])))
    assert seeds == list(range(FIRST, FIRST + 10_500))
    assert {piece.given[0] for piece in found[:5]} == {"claims", "leases"}


def test_the_release_plays_millions_of_schedules_and_twenty_blocks_for_each_fault() -> None:
    wanted = pieces(RELEASE, 1.0)
    assert sum(piece.given[2] for piece in wanted if piece.work == "play") >= 7_000_000
    assert len([piece for piece in wanted if piece.given[:1] == (FAULT,)]) == 20


def test_the_story_of_a_schedule_that_keeps_its_promises_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert prove.main(["--tell", "claims", "1"]) == 0
    assert "breaks no promise" in capsys.readouterr().out
    assert prove.main(["--tell", "clams", "1"]) == 2
    assert "there are claims, leases" in capsys.readouterr().out
