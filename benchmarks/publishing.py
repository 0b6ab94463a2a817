"""Publishing: sedano compared with code written by hand, to the same queue on loopback."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.contest import contest, ratio
from benchmarks.report import Entry, Section, Target

ROOT = Path(__file__).resolve().parent.parent
TITLE = "Publishing 1 000 tasks"
TASKS = 1_000
ROUNDS = 9
HAND = "boto3 by hand, tens"
OURS = "sedano: delay() under app.batch()"
CONTENDERS = {
    HAND: ("publishers", "by-hand"),
    OURS: ("publishers", "batch"),
}
SINGLY = {
    "sedano: delay(), a call each": ("publishers", "delay"),
    "Celery: send_task(), a call each": ("publishers", "celery"),
}
SINGLE_TASKS = 100
RELATIVE = "throughput of app.batch(), of by hand"
HOW = "tasks a second of wall time, one thread; SQS is a counting endpoint on loopback, so the network takes no time"


def deployed(url: str) -> dict[str, str]:
    """Return the environment of a deployment whose endpoint is *url*: sedano's settings, and credentials without rights."""
    queues = {"events": "EVENTS", "records": "RECORDS", "parked": "PARKED"}
    return {
        **os.environ,
        "AWS_ENDPOINT_URL": url, "AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench",
        "BENCH_QUEUE": f"{url}/000000000000/bench", "SEDANO_QUEUES": f'{{"default": "{url}/000000000000/bench"}}',
        **{f"SEDANO_{name}_QUEUE": f"{url}/000000000000/{queue}" for queue, name in queues.items()},
        "SEDANO_LEDGER_TABLE": "ledger", "SEDANO_CONTROL_TABLE": "control", "SEDANO_BLOBS_BUCKET": "blobs",
        "SEDANO_HISTORY_BUCKET": "history", "SEDANO_APP": "benchmarks.tasks:app",
    }  # fmt: skip


@contextmanager
def endpoint(*options: str) -> Iterator[str]:
    """Run the endpoint with *options* during the block and yield its address."""
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.endpoint", *options], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout is None:
            raise AssertionError("the endpoint has no output")
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def section(progress: Callable[[], None]) -> Section:
    """Return the numbers for the report."""
    with endpoint() as url:
        environment = deployed(url)
        pair = contest(CONTENDERS, TASKS, ROUNDS, progress, environment)
        singly = contest(SINGLY, SINGLE_TASKS, ROUNDS, progress, environment)
    wall = {name: [sample.wall for sample in samples] for name, samples in (pair | singly).items()}
    cpu = {name: [sample.cpu for sample in samples] for name, samples in (pair | singly).items()}
    relative = {"of its CPU": ratio(cpu[OURS], cpu[HAND])}
    entries = [Entry(RELATIVE, ratio(wall[HAND], wall[OURS]), "times", Target(0.8, "least"), relative)]
    return Section(TITLE, HOW, entries + _throughputs(wall, cpu))


def _throughputs(wall: Mapping[str, list[float]], cpu: Mapping[str, list[float]]) -> list[Entry]:
    micro = {name: {"CPU µs": statistics.median(seconds) * 1e6} for name, seconds in cpu.items()}
    return [Entry(name, 1 / statistics.median(seconds), "a second", more=micro[name]) for name, seconds in wall.items()]
