"""The inner side of a contest: one contender in its own process, measured on request of the outer side.

A contender makes its input for *n* tasks and returns the function to be measured. For each number on standard input it answers with one
JSON line: the CPU seconds (user and system, all threads) and the wall seconds that *n* tasks took. Inputs are made before the measurement
starts and are frozen for the garbage collector, so it visits only objects that the contender itself makes.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable, Mapping

Run = Callable[[], object]
Contender = Callable[[int], Run]
WARM_UP = 300


def serve(contenders: Mapping[str, Callable[[], Contender]]) -> None:
    """Measure the contender that the command line names, once for each request."""
    contender = contenders[sys.argv[1]]()
    contender(WARM_UP)()
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(measured(contender, int(line))), flush=True)


def measured(contender: Contender, tasks: int) -> dict[str, float]:
    """Return the CPU and wall seconds that *tasks* tasks took."""
    run = contender(tasks)
    gc.collect()
    gc.freeze()
    cpu, wall = time.process_time(), time.perf_counter()
    run()
    return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
