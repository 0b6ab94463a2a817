"""Advice about the start of a worker process: its user, its number of threads for CPU-bound bodies, and the declarations of the app that
hold on Lambda alone. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

ROOT = 0
MOST_THREADS = 10
"""More threads than this for `def` bodies slow each other down, because they share one interpreter (the design of Celery 5)."""
AS_ROOT = (
    "the worker runs as root, and so does each body: start it as an unprivileged user, with DynamicUser= in systemd, USER in a container "
    "file, runAsNonRoot in Kubernetes"
)
MANY_THREADS = (
    "{lanes} bodies at once, and {tasks} of the tasks are `def` functions, which share one core of this process: for CPU-bound bodies, "
    "use at most {most} and more --processes; I/O-bound bodies should be async"
)
OF_LAMBDA = "{declared} holds on Lambda alone: this process takes messages one by one, and runs --concurrency bodies at once"
ALONE = "the rate of {tasks} counts for each worker, and each of {lanes} lanes is one; a rate without per= is for all workers together"


class Declarations(NamedTuple):
    """The declarations of an app that a process does not honour as Lambda does: *of_batches*, as in code; tasks whose rate each worker
    counts alone (*per_worker*).
    """

    of_batches: Sequence[str] = ()
    per_worker: Sequence[str] = ()


NONE = Declarations()


def advice(uid: int, lanes: int, blocking: int, declared: Declarations = NONE) -> tuple[str, ...]:
    """Return the advice for a process with the user id *uid*, *lanes* concurrent bodies, *blocking* tasks that are `def` functions, and an
    app with what it *declared*.
    """
    found = [AS_ROOT] if uid == ROOT else []
    if lanes > MOST_THREADS and blocking:
        found.append(MANY_THREADS.format(lanes=lanes, tasks=blocking, most=MOST_THREADS))
    if declared.of_batches:
        found.append(OF_LAMBDA.format(declared=" and ".join(declared.of_batches)))
    if declared.per_worker and lanes > 1:
        found.append(ALONE.format(tasks=", ".join(declared.per_worker), lanes=lanes))
    return tuple(found)
