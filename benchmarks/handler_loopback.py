"""The CPU of a whole handler whose AWS calls go to a counting endpoint on loopback: with botocore, with the slim client, and of the peers.

`handler.py` answers inside botocore, where the slim client does not pass. Here each call is sent over a socket, so the figure has the whole
of each client. The endpoint runs in a process of its own and counts the calls.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from benchmarks.aws_client import counts, environment
from benchmarks.contest import contest, ratio
from benchmarks.publishing import endpoint
from benchmarks.report import Entry, Section, Target

TITLE = "Handler CPU over a socket"
TASKS = 200
ROUNDS = 7
OURS = "sedano: claimed, with result"
SLIM = "sedano: claimed, with result, slim client"
GROUPED = "sedano: claimed, with result, group commit"
SLIM_GROUPED = "sedano: claimed, with result, slim client, group commit"
PUT = "boto3: a conditional put a message"
PEER = "Powertools: batch with idempotency"
CONTENDERS = {
    OURS: ("engine", "claimed-loopback"),
    SLIM: ("engine", "claimed-loopback-slim"),
    GROUPED: ("engine", "claimed-loopback-grouped"),
    SLIM_GROUPED: ("engine", "claimed-loopback-slim-grouped"),
    PUT: ("powertools_handler", "put-loopback"),
    PEER: ("powertools_handler", "idempotency-loopback"),
}
OF = {PUT: "of a conditional put", PEER: "of Powertools' idempotency"}
GOALS: Mapping[str, Mapping[str, Target | None]] = {
    OURS: {PUT: None, PEER: None}, SLIM: {PUT: Target(1.0), PEER: Target(0.5)}, GROUPED: {PUT: None, PEER: None},
    SLIM_GROUPED: {PUT: None, PEER: None},
}  # fmt: skip
HOW = (
    "CPU (user and system, all threads) a task in batches of ten, each AWS call over a socket to an endpoint on loopback that counts;\n"
    "  sedano: two writes and a tenth of a send a task; with group commit the same writes are\n"
    "  two tenths of a call; a conditional put: one write; idempotency: two writes; not measured: TLS"
)


def section(progress: Callable[[], None], tasks: int = TASKS, rounds: int = ROUNDS) -> Section:
    """Return the numbers for the report."""
    with endpoint() as url:
        samples = contest(CONTENDERS, tasks, rounds, progress, environment(url))
        counted = counts(url)
    cpu = {name: [sample.cpu for sample in taken] for name, taken in samples.items()}
    entries = [Entry(name, statistics.median(seconds) * 1e6, "µs", more={"best": min(seconds) * 1e6}) for name, seconds in cpu.items()]
    entries += ratios(cpu)
    entries += [Entry(f"calls: {name}", float(number), "calls") for name, number in sorted(counted.items())]
    return Section(TITLE, HOW, entries)


def ratios(cpu: Mapping[str, Sequence[float]]) -> list[Entry]:
    """Return sedano's CPU as a share of each peer's, from samples that were taken in turns."""
    return [
        Entry(f"{name}, {OF[peer]}", ratio(cpu[name], cpu[peer]), "times", goal)
        for name, goals in GOALS.items()
        for peer, goal in goals.items()
        if name in cpu and peer in cpu
    ]
