"""`make fuzz MINUTES=10 SEED=1 TARGET=worker`: a line for each target, and `build/fuzz/summary.json`; status 1 when something escaped.

    .venv/bin/python -m tests.fuzz replay build/fuzz/escapes/worker-0123456789.json
"""

from __future__ import annotations

import os
import sys

from tests.fuzz.begun import PLANT
from tests.fuzz.command import arguments, main

if __name__ == "__main__":
    asked = arguments(sys.argv[1:])
    settled = {"PYTHONHASHSEED": "0", PLANT: asked.plant or ""}
    if any(os.environ.get(name) != value for name, value in settled.items()):
        os.execve(sys.executable, [sys.executable, "-m", "tests.fuzz", *sys.argv[1:]], {**os.environ, **settled})
    sys.exit(main(asked))
