"""`make mutants MINUTES=10 TARGET=leases SEED=1`: a line for each change that no test noticed, and `build/mutants/summary.json`.

    .venv/bin/python -m tests.mutants --target leases --place RELEASE
"""

from __future__ import annotations

import os
import sys

from tests.mutants.command import arguments, main

if __name__ == "__main__":
    asked = arguments(sys.argv[1:])
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(sys.executable, [sys.executable, "-m", "tests.mutants", *sys.argv[1:]], {**os.environ, "PYTHONHASHSEED": "0"})
    sys.exit(main(asked))
