"""One of many short programs of a host: it publishes tasks one at a time, each confirmed, and answers with its CPU."""

from __future__ import annotations

import json
import resource
import sys
import time

from benchmarks.tasks import plain

WARM_UP = 20


def main() -> None:
    """Publish as many tasks as each line of standard input says."""
    began = resource.getrusage(resource.RUSAGE_SELF)
    _publish(WARM_UP)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"start": began.ru_utime + began.ru_stime, "MiB": memory, "botocore": "botocore" in sys.modules}), flush=True)
    for line in sys.stdin:
        cpu = time.process_time()
        _publish(int(line))
        print(json.dumps({"cpu": time.process_time() - cpu}), flush=True)


def _publish(tasks: int) -> None:
    for number in range(tasks):
        plain.delay(number, 2)


if __name__ == "__main__":
    main()
