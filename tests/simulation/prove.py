"""`make prove`: everything that `make test` plays a little of, played much of, on every core; the figures go to build/prove/summary.json.

    python -m tests.simulation.prove [--scale 0.01] [--minutes 30]
    python -m tests.simulation.prove --tell claims 10000123

*scale* shrinks the number of schedules, blocks and comparisons; the searches stay whole. The work is cut into pieces, and each is written
down when it is done: whatever ends the run, the sums of what was played are in the summary, and the same command goes on from there; a
piece whose code has changed meanwhile is played again (`tests.simulation.sources`). A broken promise is told as a story at once, with the
command that repeats it, and the process ends with 1.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.simulation.campaign import story
from tests.simulation.notebook import Notebook
from tests.simulation.pieces import FAILED, WORLDS, Piece, done, pieces, stage
from tests.simulation.sizes import RELEASE
from tests.simulation.sources import sources
from tests.simulation.summary import summed

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "prove"
SAY_S = 60.0
"""How often a long run says how far it is, and writes its sums."""
STORIES = 3
WALL = "wall seconds"


class Proof:
    """One run: the pieces that are wanted, the notebook, and what is said on the way."""

    def __init__(self, wanted: Sequence[Piece], notebook: Notebook, minutes: float | None = None) -> None:
        """Begin now, to stop after *minutes*; the sums go beside the notebook."""
        self.wanted, self.notebook = wanted, notebook
        self.summary = notebook.path.with_name("summary.json")
        self.began = self.said = time.monotonic()
        self.until = self.began + 60 * minutes if minutes is not None else float("inf")
        self.before = float(notebook.known.get(WALL, 0.0))
        self.told = 0
        self.failed: list[str] = []

    @property
    def left(self) -> list[Piece]:
        """What is still to be done."""
        return [piece for piece in self.wanted if piece.key not in self.notebook.known]

    def run(self) -> None:
        """Do what is left, on every core, until it is done or the time is over."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["tests.simulation.pieces"])
        with context.Pool(initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:
            for piece, found in self._in_time(pool.imap_unordered(done, self.left)):
                self._take(piece, found)
                if time.monotonic() - self.said >= SAY_S:
                    self.say()

    def _take(self, piece: Piece, found: dict[str, Any]) -> None:
        """Write down and tell what *piece* found; what could not be done is told, and tried again when the run goes on."""
        if FAILED in found:
            self.failed.append(f"could not be done: {piece.key}: {found[FAILED]}")
            print(self.failed[-1], flush=True)
        else:
            self.notebook.add(piece.key, found)
            self._tell(piece, found)

    def _in_time(self, found: Iterator[tuple[Piece, dict[str, Any]]]) -> Iterator[tuple[Piece, dict[str, Any]]]:
        for one in found:
            yield one
            if time.monotonic() >= self.until:
                return

    def say(self) -> dict[str, Any]:
        """Write the sums and say them in one line."""
        self.said = time.monotonic()
        self.notebook.add(WALL, round(self.before + self.said - self.began, 1))
        summary = summed(self.notebook.known, self.wanted, self.notebook.known[WALL])
        summary["broken"] += self.failed
        fresh = self.summary.with_suffix(".new")
        fresh.write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n", "utf-8")
        fresh.replace(self.summary)
        faults = summary["planted_faults"]
        played = ", ".join(f"{one['schedules']} {world}" for world, one in summary["worlds"].items())
        print(
            f"{len(self.wanted) - len(self.left)} of {len(self.wanted)} pieces in {summary['seconds']} s: {summary['states']} states;"
            f" {faults['killed_in_every_block']} of {faults['planted']} planted faults caught in {faults['blocks_played']} blocks;"
            f" {played}: {summary['simulated_hours']} hours, {summary['times_real_of_a_core']} × real time;"
            f" {len(summary['broken'])} broken",
            flush=True,
        )
        return summary

    def _tell(self, piece: Piece, found: dict[str, Any]) -> None:
        """Tell the first broken promises as stories, each with the command that repeats it."""
        if piece.work == "search" and found["violation"]:
            print(f"{piece.given[0]}: {found['violation']}", *found["path"], sep="\n", flush=True)
        for seed in found["violations"] if piece.work == "play" else ():
            self.told += 1
            if self.told <= STORIES:
                print(story(stage(piece.given[0]), int(seed)), flush=True)
                print(f"again: python -m tests.simulation.prove --tell {piece.given[0]} {seed}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prove, write the summary, and say what was found."""
    parser = argparse.ArgumentParser(description="Play, search and compare at release size.")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the release's schedules (default: all)")
    parser.add_argument("--minutes", type=float, help="stop after so many minutes; the same command goes on from there")
    parser.add_argument("--tell", nargs=2, metavar=("WORLD", "SEED"), help="only tell the story of one failing schedule")
    asked = parser.parse_args(arguments)
    if asked.tell is not None:
        return tell(*asked.tell)
    wanted = pieces(RELEASE, asked.scale)
    notebook = Notebook(BUILD / "pieces.jsonl", sources(wanted))
    proof = Proof(wanted, notebook, asked.minutes)
    before = len(wanted) - len(proof.left)
    print(f"{len(proof.left)} pieces of work" + (f"; {before} were done before" if before else ""), flush=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        proof.run()
    except KeyboardInterrupt:
        print("cut; the same command goes on from here", flush=True)
    summary = proof.say()
    notebook.close()
    print(f"{len(summary['broken'])} broken promises; {BUILD.relative_to(ROOT)}/summary.json", *summary["broken"], sep="\n")
    return 1 if summary["broken"] else 0 if summary["complete"] or asked.minutes is not None else 130


def tell(world: str, seed: str) -> int:
    """Tell how the schedule of *seed* in a *world* breaks a promise."""
    if world not in WORLDS:
        print(f"{world!r} is no world; there are {', '.join(WORLDS)}")
        return 2
    try:
        print(story(stage(world), int(seed)))
    except ValueError as sound:
        print(sound)
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
