"""The CPU of a whole handler for a task that does nothing, the AWS client included, compared with peers that use the same client.

`framework.py` leaves the client out, and it is 93 to 97 % of the CPU that a function is billed for. Here every contender calls botocore's
client and is answered at the point where the request would leave the process (`answers.py`), so this is the CPU of an invocation without
the network, Lambda's own runtime and the body. Two figures exclude the client: they show its share of the whole.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

from benchmarks.contest import contest, ratio
from benchmarks.report import Entry, Section, Target

TASKS = 300
ROUNDS = 9
PUT = "boto3: a conditional put a message"
OF_PUT = "of a conditional put"
OURS = "sedano: claimed, with result"
CONTENDERS = {
    OURS: ("engine", "claimed-client"),
    "sedano: recorded once": ("engine", "record-once-client"),
    PUT: ("powertools_handler", "put-client"),
    "Powertools: batch with idempotency": ("powertools_handler", "idempotency-client"),
    "sedano: claimed, over its adapter, without the client": ("engine", "claimed-adapter"),
    "Powertools: idempotency, over its persistence layer, without the client": ("powertools_handler", "idempotency"),
}
TARGETS = {OURS: Target(1.0)}
HOW = (
    "CPU (user and system) a task in batches of ten, botocore's client included and answered in the process; not measured: the network,\n"
    "  Lambda's runtime, Celery (its SQS transport and DynamoDB backend take no such answers)"
)


def section(progress: Callable[[], None]) -> Section:
    """Return the numbers for the report."""
    samples = contest(CONTENDERS, TASKS, ROUNDS, progress)
    cpu = {name: [sample.cpu for sample in taken] for name, taken in samples.items()}
    entries = [Entry(name, statistics.median(seconds) * 1e6, "µs", more={"best": min(seconds) * 1e6}) for name, seconds in cpu.items()]
    entries += [Entry(f"{name}, {OF_PUT}", ratio(cpu[name], cpu[PUT]), "times", target) for name, target in TARGETS.items()]
    return Section("Handler CPU, AWS client included", HOW, entries)
