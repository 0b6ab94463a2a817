"""`sedano worker` beside the workers of Celery, Dramatiq and Taskiq: tasks that do nothing, over the same counting endpoint, in turns.

    python -m benchmarks.worker_peers

Each is one process that runs ten tasks at once over its SQS broker (`contenders/*_worker.py`). Peers that are not installed are left
out.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from benchmarks import report
from benchmarks.contest import in_turns, ratio
from benchmarks.publishing import ROOT, deployed
from benchmarks.report import Entry, Section, Target
from benchmarks.tasks import add, plain
from benchmarks.worker_process import BUILD, LANES, Cost, ServingWorker

TASKS, ROUNDS = 1_000, 7
YARDSTICK = "sedano worker: at least once"
CLAIMED = "sedano worker: claimed, with result"
BOTOCORE = "sedano worker: at least once, botocore"
PEERS = {"Celery: threads": "celery", "Dramatiq: threads": "dramatiq", "Taskiq: one event loop": "taskiq"}
LEAST_PLAIN, LEAST_CLAIMED = 5_000, 1_500
"""The tasks for each second of CPU that the design is held to, on a machine that is not busy."""
HOW = (
    f"one process with {LANES} tasks at once over a counting endpoint on loopback; CPU of the process, user and system.\n"
    "  sedano records the history of each task, and of a claimed one its claim and its result; the peers store neither results nor\n"
    "  history, and Celery acknowledges before the task runs. sedano uses the slim client unless the row says otherwise, the peers the\n"
    "  client that their SQS broker brings"
)


class ServingPeer(ServingWorker):
    """One process of another task queue's worker, and the endpoint that it works against."""

    kinds = (plain.name,)

    def __init__(self, peer: str) -> None:
        """Start nothing yet."""
        super().__init__(ROOT)
        self._body = ""
        self._words = [sys.executable, "-m", f"benchmarks.contenders.{peer}_worker"]

    def _command(self) -> tuple[list[str], dict[str, str]]:
        return self._words, {}

    def _bodies(self, task: str, tasks: int) -> list[str]:
        return [self._body] * tasks

    def _begin(self) -> None:
        """Get one message as this queue sends it.

        Raises:
            CalledProcessError: it is not installed.
        """
        environment = deployed(self._endpoint.url)
        asked = subprocess.run([*self._words, "--body"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        self._body = asked.stdout.strip()


def section(progress: Callable[[], None], tasks: int = TASKS, rounds: int = ROUNDS) -> Section:
    """Return the numbers for the report."""
    with ExitStack() as stack:
        slim, botocore = (stack.enter_context(ServingWorker(ROOT, SEDANO_AWS_CLIENT=client)) for client in ("slim", ""))
        asked: dict[str, Callable[[], Cost]] = {
            YARDSTICK: lambda: slim.sample(plain.name, tasks),
            CLAIMED: lambda: slim.sample(add.name, tasks),
            BOTOCORE: lambda: botocore.sample(plain.name, tasks),
        }
        for name, peer in PEERS.items():
            try:
                asked[name] = _sampling(stack.enter_context(ServingPeer(peer)), tasks)
            except subprocess.CalledProcessError:
                continue
        samples = in_turns(asked, rounds, progress)
    return Section("Workers over SQS", HOW, _entries(samples))


def _sampling(peer: ServingPeer, tasks: int) -> Callable[[], Cost]:
    return lambda: peer.sample(plain.name, tasks)


def _entries(samples: Mapping[str, Sequence[Cost]]) -> list[Entry]:
    targets = {YARDSTICK: Target(LEAST_PLAIN, "least"), CLAIMED: Target(LEAST_CLAIMED, "least")}
    return [_entry(name, costs, samples[YARDSTICK], targets.get(name)) for name, costs in samples.items()]


def _entry(name: str, costs: Sequence[Cost], ours: Sequence[Cost], target: Target | None) -> Entry:
    cpu = [cost.cpu for cost in costs]
    more = {
        "CPU µs a task": statistics.median(cpu) * 1e6,
        "CPU, of sedano's": ratio(cpu, [cost.cpu for cost in ours]),
        "calls a task": statistics.median(sum(cost.calls.values()) for cost in costs),
        "tasks a second": 1 / statistics.median(cost.wall for cost in costs),
    }
    return Entry(name, 1 / statistics.median(cpu), "tasks a CPU second", target, more)


def main() -> None:
    """Measure, print and write build/bench/worker_peers.json."""
    began = time.monotonic()
    found = section(lambda: None)
    report.write(BUILD / "worker_peers.json", [found], time.monotonic() - began)
    print(report.table([found]))


if __name__ == "__main__":
    main()
