"""The fight at release size, for `make prove`: a minute on an endpoint of its own, in a process of its own.

    python -m tests.deploy.fight.proof      prints what was broken and how much there was to break, as JSON
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.deploy.fight.arena import fight, standing_arena
from tests.deploy.fight.referees import judge

ROOT = Path(__file__).parents[3]
KILLS_A_MINUTE = 20


def fought(seconds: float) -> dict[str, Any]:
    """Fight for *seconds* and return the verdict."""
    command = [sys.executable, "-m", __name__, str(seconds)]
    found: dict[str, Any] = json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)
    return found


def main(seconds: float) -> None:
    """Fight and print the verdict."""
    with TemporaryDirectory() as name:
        journals = Path(name) / "journals"
        journals.mkdir()
        with standing_arena(Path(name)) as arena:
            verdict = judge(fight(arena, journals, seconds, kills=round(KILLS_A_MINUTE * seconds / 60)))
    print(json.dumps({"seconds": seconds, "figures": dict(sorted(verdict.figures.items())), "broken": verdict.broken}))


if __name__ == "__main__":
    main(float(sys.argv[1]))
